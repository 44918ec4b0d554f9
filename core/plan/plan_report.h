// SPDX-License-Identifier: Apache-2.0
//
// A plan for people and for scripts: what `dtrain plan` prints.
#pragma once

#include <string>
#include <vector>

#include "core/plan/plan.h"

namespace dtrain {

struct PlanRow {
  std::string key, value, origin;
};

// Every resolved value with its origin.
std::vector<PlanRow> plan_rows(const Plan& plan);

// Mesh, lanes of each rank, what is derived from what, gradient buffers, plugins, hashes: a line each.
std::vector<std::string> plan_summary(const Plan& plan);

// One JSON object with the same content and the plan's identity.
std::string plan_report_json(const Plan& plan);

}  // namespace dtrain
