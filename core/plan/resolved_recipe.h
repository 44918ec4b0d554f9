// SPDX-License-Identifier: Apache-2.0
//
// A checked recipe with nothing left to derive, as fields and as a recipe again.
#pragma once

#include <string>
#include <vector>

#include "core/plan/plan.h"
#include "core/recipe/recipe_check.h"

namespace dtrain {

// Every value with its rule for resume. Rules that depend on other values are settled here: with the canonical
// reduction the bits do not depend on the comm backend nor on which of the exact strategies runs.
std::vector<PlanField> plan_fields(const CheckedRecipe& recipe);

// TOML that makes the same plan from any folder: all defaults written out, paths absolute.
std::string recipe_text(const CheckedRecipe& recipe);

// The strategies that "auto" chooses among; they give the same bits.
inline constexpr std::string_view kAutoStrategy = "auto", kOneRank = "single", kManyRanks = "ddp";

}  // namespace dtrain
