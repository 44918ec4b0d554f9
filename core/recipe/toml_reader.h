// SPDX-License-Identifier: Apache-2.0
//
// TOML text (1.0) -> Value. The only place that knows the TOML library.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/recipe/recipe_errors.h"
#include "core/recipe/value.h"

namespace dtrain {

// Reads a whole document. `name` is what messages call it; relative paths in it are relative to `folder`. Mistakes of
// syntax are added with dotted key and place. A mistake that concerns one value (a repeated key, a number that fits
// nowhere, a string without quotes) does not hide those after it: the rest is read too. std::nullopt: the rest could
// not be read.
std::optional<Value> read_toml(std::string_view text, const std::string& name, const std::string& folder,
                               MistakeList& mistakes);

// Reads the text of one value, such as `5e-5` or `[1, 2]`. std::nullopt when it is not TOML.
std::optional<Value> read_toml_value(std::string_view text, const Origin& origin);

// What a --set's text means where a string is wanted: the text itself, or the string that it quotes.
std::string text_as_string(std::string_view text);

}  // namespace dtrain
