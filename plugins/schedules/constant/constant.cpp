// SPDX-License-Identifier: Apache-2.0
//
// The base learning rate from the end of the warm-up on.
#include <dtrain/schedule.h>

namespace {

namespace dt = dtrain;

struct Constant : dt::Schedule {
  Constant(const dt::ScheduleContext&, const dt::NoOptions&) {}
  double factor(std::int64_t) const override { return 1.0; }
};

}  // namespace

DTRAIN_PLUGIN("constant", "0.1.0", dtrain::schedule<Constant>("constant"))
