// SPDX-License-Identifier: Apache-2.0
//
// The one layout of recipes: comments, order and spelling of values stay; blanks, indentation and empty lines do not.
#pragma once

#include <string>
#include <string_view>

namespace dtrain {

// `[a.b]` and `key = value` without indentation, one empty line before each table and none twice, two blanks before a
// comment behind a value, lines of a multi-line array indented by two. The result means the same; formatting it again
// changes nothing. Throws RecipeErrors when the text is not TOML; `name` is what messages call it.
std::string format_recipe(std::string_view text, const std::string& name);

}  // namespace dtrain
