// SPDX-License-Identifier: Apache-2.0
//
// Half a period of a cosine, from the base learning rate at the end of the warm-up to min_ratio of it at the end of the
// run (Loshchilov and Hutter, "SGDR", 2017, equation 5, without restarts). The end itself is the update after the last
// one.
#include <dtrain/schedule.h>

#include <algorithm>
#include <cmath>
#include <numbers>

namespace {

namespace dt = dtrain;

struct Options {
  double min_ratio = 0;

  constexpr void describe(dt::Schema& s) {
    s.trajectory("min_ratio", min_ratio, dt::range(0.0, 1.0),
                 "share of the base learning rate that is left at the end");
  }
};

struct Cosine : dt::Schedule {
  Cosine(const dt::ScheduleContext& c, const Options& o)
      : begin(c.warmup), length(std::max<std::int64_t>(c.total_updates - c.warmup, 1)), min_ratio(o.min_ratio) {}

  double factor(std::int64_t update) const override {
    const double done = static_cast<double>(update - begin) / static_cast<double>(length);
    const double wave = 0.5 * (1.0 + std::cos(std::numbers::pi * std::clamp(done, 0.0, 1.0)));
    return min_ratio + (1.0 - min_ratio) * wave;
  }

  std::int64_t begin, length;
  double min_ratio;
};

}  // namespace

DTRAIN_PLUGIN("cosine", "0.1.0", dtrain::schedule<Cosine, Options>("cosine"))
