// SPDX-License-Identifier: Apache-2.0
//
// What options mean together: batch arithmetic, length of the run, evaluation, ranks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/recipe/recipe_check.h"

namespace dtrain {

// Adds a mistake for every contradiction among values that are themselves good; a remark goes to `notes`. Returns the
// resolved number of lanes, 0 when it cannot be told.
std::int64_t check_together(const CheckedRecipe& recipe, MistakeList& mistakes, std::vector<std::string>& notes);

}  // namespace dtrain
