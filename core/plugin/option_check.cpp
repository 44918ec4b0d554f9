// SPDX-License-Identifier: Apache-2.0
#include "core/plugin/option_check.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>
#include <type_traits>

namespace dtrain {
namespace {

template <class T>
constexpr bool is_list = false;
template <class T>
constexpr bool is_list<std::vector<T>> = true;

std::string number_text(double value) {
  char buffer[32];
  const auto result = std::to_chars(buffer, buffer + sizeof buffer, value);
  return {buffer, result.ptr};
}

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

std::string element_text(bool value) {
  return value ? "true" : "false";
}
std::string element_text(std::int64_t value) {
  return std::to_string(value);
}
std::string element_text(double value) {
  auto text = number_text(value);
  if (text.find_first_not_of("-0123456789") == std::string::npos) text += ".0";  // a real stays one in TOML
  return text;
}
std::string element_text(const std::string& value) {
  return quoted(value);
}

template <class T>
std::string element_text(const std::vector<T>& list) {
  std::string out = "[";
  for (const auto& value : list) out += (out.size() > 1 ? ", " : "") + element_text(value);
  return out + "]";
}

bool allowed(const OptionSpec&, bool) {
  return true;
}
bool allowed(const OptionSpec& option, double value) {
  return !std::isnan(value) && value <= option.max && (option.exclusive_min ? value > option.min : value >= option.min);
}
bool allowed(const OptionSpec& option, std::int64_t value) {
  return allowed(option, static_cast<double>(value));
}
bool allowed(const OptionSpec& option, const std::string& value) {
  return option.choices.empty() || std::ranges::find(option.choices, value) != option.choices.end();
}

}  // namespace

std::string to_text(const OptionValue& value) {
  return std::visit([](const auto& v) { return element_text(v); }, value);
}

std::string allowed_text(const OptionSpec& option) {
  std::string out;
  if (!option.choices.empty()) {
    for (const auto& choice : option.choices) out += (out.empty() ? "" : ", ") + choice;
    return out;
  }
  const bool from = std::isfinite(option.min), to = std::isfinite(option.max);
  if (from && option.exclusive_min) {
    out = "above " + number_text(option.min);
    if (to) out += ", at most " + number_text(option.max);
  } else if (from && to) {
    out = number_text(option.min) + " to " + number_text(option.max);
  } else if (from) {
    out = "at least " + number_text(option.min);
  } else if (to) {
    out = "at most " + number_text(option.max);
  }
  return out;
}

std::optional<std::string> value_problem(const OptionSpec& option, const OptionValue& value) {
  const auto check = [&](const auto& v) -> std::optional<std::string> {
    if (allowed(option, v)) return std::nullopt;
    return "found " + element_text(v) + ", allowed " + allowed_text(option);
  };
  return std::visit(
      [&](const auto& v) -> std::optional<std::string> {
        if constexpr (is_list<std::decay_t<decltype(v)>>) {
          for (const auto& element : v) {
            if (auto problem = check(element)) return problem;
          }
          return std::nullopt;
        } else {
          return check(v);
        }
      },
      value);
}

}  // namespace dtrain
