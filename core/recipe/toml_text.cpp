// SPDX-License-Identifier: Apache-2.0
#include "core/recipe/toml_text.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace dtrain {
namespace {

template <class T>
std::string list(const std::vector<T>& values) {
  std::string out = "[";
  for (const T& value : values) out += (out.size() > 1 ? ", " : "") + toml_text(value);
  return out + "]";
}

struct Write {
  template <class T>
  std::string operator()(const T& value) const {
    return toml_text(value);
  }
  template <class T>
  std::string operator()(const std::vector<T>& values) const {
    return list(values);
  }
};

bool bare(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

}  // namespace

std::string toml_text(bool value) {
  return value ? "true" : "false";
}

std::string toml_text(std::int64_t value) {
  return std::to_string(value);
}

std::string toml_text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  char buffer[32];
  const auto [end, error] = std::to_chars(buffer, buffer + sizeof buffer, value);
  std::string out(buffer, end);
  if (out.find_first_of(".e") == std::string::npos) out += ".0";
  return out;
}

std::string toml_text(std::string_view value) {
  std::string out = "\"";
  for (const char c : value) {
    const auto code = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (code < 0x20 || code == 0x7f) {
      constexpr std::string_view digits = "0123456789ABCDEF";
      out += "\\u00";
      out += digits[code >> 4];
      out += digits[code & 15];
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::string toml_text(const OptionValue& value) {
  return std::visit(Write(), value);
}

std::string toml_key(std::string_view key) {
  return !key.empty() && std::all_of(key.begin(), key.end(), bare) ? std::string(key) : toml_text(key);
}

}  // namespace dtrain
