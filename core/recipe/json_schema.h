// SPDX-License-Identifier: Apache-2.0
//
// The JSON Schema (draft 2020-12) of recipes, for editors and scripts: the host's tables and every component found.
#pragma once

#include <string>

#include "core/recipe/component_source.h"

namespace dtrain {

std::string recipe_json_schema(const ComponentSource& components);

}  // namespace dtrain
