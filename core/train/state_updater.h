// SPDX-License-Identifier: Apache-2.0
//
// Applies a committed step to the state: optimizer over the parameters, sample-weighted means into the buffers.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <dtrain/optimizer.h>
#include <dtrain/schedule.h>
#include <dtrain/strategy.h>

#include "core/plan/plan.h"
#include "core/state/flat_layout.h"
#include "core/state/state_arena.h"
#include "core/train/commit.h"

namespace dtrain {

// Regions of the arena: 0 the state itself (parameters, buffers), then one for each slot of the optimizer.
class StateUpdater final : public StateUpdate {
 public:
  struct Setup {
    const FlatLayout* layout = nullptr;
    StateArena* arena = nullptr;
    std::span<const float> reduced;
    const Optimizer* optimizer = nullptr;
    const Schedule* schedule = nullptr;
    const Plan* plan = nullptr;
    std::int64_t total_updates = 1;
    const StepCommit* commit = nullptr;
  };
  // UserError: a group of the plan that matches no parameter.
  explicit StateUpdater(Setup setup);

  void update() override;

  std::int64_t updates() const { return updates_; }
  void set_updates(std::int64_t updates) { updates_ = updates; }
  double next_lr() const;  // base learning rate of the next update

 private:
  struct Group {
    double lr_scale = 1;
    double weight_decay = 0;
    bool frozen = false;
  };

  Setup s_;
  std::vector<Group> groups_;  // one a parameter tensor
  std::int64_t updates_ = 0;
};

// Learning-rate factor of an update counted from 0: linear warm-up from base / warmup, then the schedule.
double lr_factor(const Schedule& schedule, std::int64_t warmup, std::int64_t total_updates, std::int64_t update);

// Shell-style match of a whole dotted name: '*' any run of characters, '?' one.
bool glob_match(std::string_view pattern, std::string_view text);

}  // namespace dtrain
