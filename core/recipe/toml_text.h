// SPDX-License-Identifier: Apache-2.0
//
// Writes values as TOML 1.0. What is written reads back to the same value, bit for bit.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/plugin/option.h"

namespace dtrain {

std::string toml_text(bool value);
std::string toml_text(std::int64_t value);
std::string toml_text(double value);              // always with a point, an exponent, or inf and nan
std::string toml_text(std::string_view value);    // a basic string, quoted
std::string toml_text(const OptionValue& value);  // any of the above, or a list on one line
std::string toml_key(std::string_view key);       // bare where allowed, else quoted

inline std::string toml_text(const std::string& value) {
  return toml_text(std::string_view(value));
}
inline std::string toml_text(const char* value) {
  return toml_text(std::string_view(value));
}

}  // namespace dtrain
