// SPDX-License-Identifier: Apache-2.0
//
// A straight line from the base learning rate at the end of the warm-up to min_ratio of it at the end of the run. The
// end itself is the update after the last one, so the last update still trains when min_ratio is 0.
#include <dtrain/schedule.h>

#include <algorithm>

namespace {

namespace dt = dtrain;

struct Options {
  double min_ratio = 0;

  constexpr void describe(dt::Schema& s) {
    s.trajectory("min_ratio", min_ratio, dt::range(0.0, 1.0),
                 "share of the base learning rate that is left at the end");
  }
};

struct Linear : dt::Schedule {
  Linear(const dt::ScheduleContext& c, const Options& o)
      : end(c.total_updates), length(std::max<std::int64_t>(c.total_updates - c.warmup, 1)), min_ratio(o.min_ratio) {}

  double factor(std::int64_t update) const override {
    const double left = static_cast<double>(end - update) / static_cast<double>(length);
    return min_ratio + (1.0 - min_ratio) * std::clamp(left, 0.0, 1.0);
  }

  std::int64_t end, length;
  double min_ratio;
};

}  // namespace

DTRAIN_PLUGIN("linear", "0.1.0", dtrain::schedule<Linear, Options>("linear"))
