// SPDX-License-Identifier: Apache-2.0
//
// A plan as a list of keys and values: its hashes, and how it differs from another.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/plan/plan.h"

namespace dtrain {

// The canonical text of the fields with this rule: one line "key = value" each, values as TOML. Independent of origins,
// plugin files and everything operational.
std::string rule_text(const std::vector<PlanField>& fields, ResumeRule rule);

struct FieldChange {
  std::string key;
  ResumeRule rule = ResumeRule::identity;
  std::string before;  // as TOML; empty: the key is not there
  std::string after;
};

// In the order of `before`, then what only `after` has.
std::vector<FieldChange> compare_fields(const std::vector<PlanField>& before, const std::vector<PlanField>& after);

std::string rule_name(ResumeRule rule);  // "identity", "trajectory", "operational"

}  // namespace dtrain
