// SPDX-License-Identifier: Apache-2.0
#include "core/plan/plan_fields.h"

#include <algorithm>

#include "core/recipe/toml_text.h"

namespace dtrain {
namespace {

const PlanField* find(const std::vector<PlanField>& fields, const std::string& key) {
  const auto it = std::find_if(fields.begin(), fields.end(), [&](const PlanField& f) { return f.key == key; });
  return it == fields.end() ? nullptr : &*it;
}

}  // namespace

std::string rule_text(const std::vector<PlanField>& fields, ResumeRule rule) {
  std::string out;
  for (const auto& field : fields) {
    if (field.rule == rule) out += field.key + " = " + toml_text(field.value) + "\n";
  }
  return out;
}

std::vector<FieldChange> compare_fields(const std::vector<PlanField>& before, const std::vector<PlanField>& after) {
  std::vector<FieldChange> out;
  for (const auto& field : before) {
    const auto* other = find(after, field.key);
    FieldChange change{field.key, field.rule, toml_text(field.value), other == nullptr ? "" : toml_text(other->value)};
    if (change.before != change.after) out.push_back(std::move(change));
  }
  for (const auto& field : after) {
    if (find(before, field.key) == nullptr) out.push_back({field.key, field.rule, "", toml_text(field.value)});
  }
  return out;
}

std::string rule_name(ResumeRule rule) {
  switch (rule) {
    case ResumeRule::identity:
      return "identity";
    case ResumeRule::trajectory:
      return "trajectory";
    default:
      return "operational";
  }
}

}  // namespace dtrain
