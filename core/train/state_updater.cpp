// SPDX-License-Identifier: Apache-2.0
#include "core/train/state_updater.h"

#include <algorithm>
#include <string>

#include <fnmatch.h>

#include <dtrain/error.h>

namespace dtrain {

double lr_factor(const Schedule& schedule, std::int64_t warmup, std::int64_t total_updates, std::int64_t update) {
  if (update < warmup) return static_cast<double>(update + 1) / static_cast<double>(warmup);
  return schedule.factor(std::min(update, std::max(total_updates - 1, warmup)));
}

bool glob_match(std::string_view pattern, std::string_view text) {
  return ::fnmatch(std::string(pattern).c_str(), std::string(text).c_str(), 0) == 0;
}

StateUpdater::StateUpdater(Setup setup) : s_(std::move(setup)) {
  std::vector<bool> used(s_.plan->groups.size());
  for (const auto& tensor : s_.layout->tensors().first(s_.layout->num_params())) {
    Group group{.weight_decay = s_.plan->weight_decay};
    for (std::size_t i = 0; i < s_.plan->groups.size(); ++i) {
      const auto& plan = s_.plan->groups[i];
      if (!glob_match(plan.match, tensor.name)) continue;
      group = {plan.lr_scale, plan.weight_decay.value_or(s_.plan->weight_decay), plan.frozen};
      used[i] = true;
      break;
    }
    groups_.push_back(group);
  }
  for (std::size_t i = 0; i < used.size(); ++i) {
    if (used[i]) continue;
    std::string names;
    for (const auto& tensor : s_.layout->tensors().first(std::min<std::size_t>(s_.layout->num_params(), 10))) {
      names += (names.empty() ? "" : ", ") + tensor.name;
    }
    throw UserError("optimizer.groups: '" + s_.plan->groups[i].match + "' decides about no parameter",
                    "the first group that matches a name wins; the model's names begin with: " + names);
  }
}

double StateUpdater::next_lr() const {
  return s_.plan->lr * lr_factor(*s_.schedule, s_.plan->warmup, s_.total_updates, updates_);
}

void StateUpdater::update() {
  const auto& outcome = s_.commit->outcome();
  if (outcome.verdict != Verdict::apply) return;
  const double lr = next_lr();
  ++updates_;
  const auto state = s_.arena->writable(0);
  std::vector<std::span<float>> regions;
  for (std::size_t r = 1; r < s_.arena->regions(); ++r) regions.push_back(s_.arena->writable(r));
  std::vector<float*> slots(regions.size());

  const auto tensors = s_.layout->tensors();
  for (std::size_t i = 0; i < s_.layout->num_params(); ++i) {
    const auto& tensor = tensors[i];
    if (groups_[i].frozen) continue;
    for (std::size_t r = 0; r < regions.size(); ++r) slots[r] = regions[r].data() + tensor.offset;
    const UpdateScalars scalars{lr * groups_[i].lr_scale, groups_[i].weight_decay, outcome.grad_scale, updates_};
    s_.optimizer->update(scalars, {.name = tensor.name,
                                   .shape = tensor.shape,
                                   .offset = 0,
                                   .param = state.subspan(tensor.offset, tensor.count),
                                   .grad = s_.reduced.subspan(tensor.offset, tensor.count),
                                   .slots = slots});
  }
  const auto samples = static_cast<float>(outcome.samples);
  for (std::size_t i = s_.layout->num_params(); i < tensors.size(); ++i) {
    for (std::size_t e = tensors[i].offset; e < tensors[i].offset + tensors[i].count; ++e) {
      state[e] = s_.reduced[e] / samples;
    }
  }
}

}  // namespace dtrain
