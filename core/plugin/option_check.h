// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "core/plugin/option.h"

namespace dtrain {

// As in a recipe: true, 4, 0.25, "text", [1, 2]. Doubles in the shortest form that reads back to the same value.
std::string to_text(const OptionValue& value);

// "1 to 512", "above 0", "at least 1", "fast, exact"; empty when anything goes.
std::string allowed_text(const OptionSpec& option);

// Why `value` is none that the option may take ("found -1, allowed above 0"), or nothing. Elements of lists count
// singly.
std::optional<std::string> value_problem(const OptionSpec& option, const OptionValue& value);

}  // namespace dtrain
