// SPDX-License-Identifier: Apache-2.0
//
// One value against one declared option.
#pragma once

#include <optional>
#include <string>

#include "core/plugin/option.h"
#include "core/recipe/recipe_errors.h"
#include "core/recipe/value.h"

namespace dtrain {

// The typed value; std::nullopt after a mistake was added (none for Unreadable). An integer is a real number where it
// is exact, never the other way round. One value stands for a list of one. Paths are resolved. A number with a unit may
// be text ("30 s").
std::optional<OptionValue> check_value(const Value& value, const OptionSpec& spec, const std::string& key,
                                       MistakeList& mistakes);

// "an integer from 1 to 512", "one of \"a\", \"b\"", "a real number > 0 (s; or text with ms, s, min ...)".
std::string expected_text(const OptionSpec& spec);

}  // namespace dtrain
