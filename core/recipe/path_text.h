// SPDX-License-Identifier: Apache-2.0
//
// Paths as recipes write them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/recipe/recipe_errors.h"
#include "core/recipe/value.h"

namespace dtrain {

// Replaces ${env:NAME}, makes the path absolute (relative to the folder of the value's origin) and removes "." and
// "..". Text with "://" is a URL and stays as it is; so does an empty one. std::nullopt after a mistake was added:
// unset variable, "~", or any other "${".
std::optional<std::string> resolve_path(std::string_view text, const std::string& key, const Origin& origin,
                                        MistakeList& mistakes);

// "${env:NAME}" stands in paths only: adds a mistake and returns false when `text`, which is no path, has "${env:".
bool check_no_variables(std::string_view text, const std::string& key, const Origin& origin, MistakeList& mistakes);

}  // namespace dtrain
