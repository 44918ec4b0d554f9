// SPDX-License-Identifier: Apache-2.0
//
// A learning-rate schedule: a pure function of the number of updates. Warm-up belongs to the host's [lr_schedule] table and is
// applied before the schedule is asked. Independent of libtorch.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <dtrain/abi.h>
#include <dtrain/plugin.h>

namespace dtrain {

struct ScheduleContext {
  std::int64_t total_updates = 1;  // of the whole run, warm-up included
  std::int64_t warmup = 0;         // updates of linear warm-up that the host applies
};

class Schedule {
 public:
  virtual ~Schedule() = default;

  // Factor on the base learning rate for update `update` in [warmup, total_updates) counted from 0; clamped by the host for
  // later ones. Finite and >= 0.
  virtual double factor(std::int64_t update) const = 0;
};

struct ScheduleKind {
  static constexpr std::string_view name = "schedule";
  using Interface = Schedule;
  using Context = ScheduleContext;
  static constexpr std::string tag() { return abi::tag(DTRAIN_ABI_HASH_SCHEDULE); }
};

template <class T, class Options = NoOptions>
constexpr ComponentDeclaration schedule(std::string_view name) {
  return component<ScheduleKind, T, Options>(name);
}

}  // namespace dtrain
