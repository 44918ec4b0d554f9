// SPDX-License-Identifier: Apache-2.0
#include "core/ckpt/json_fields.h"

#include <dtrain/error.h>

#include <limits>
#include <optional>
#include <set>

namespace dtrain::ckpt {
namespace {

using json = nlohmann::json;

constexpr std::size_t kMaxDepth = 32;

std::optional<std::int64_t> natural(const json& value) {
  if (!value.is_number_unsigned()) return std::nullopt;
  const auto number = value.get<std::uint64_t>();
  if (number > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) return std::nullopt;
  return static_cast<std::int64_t>(number);
}

}  // namespace

void damaged(std::string_view file, std::string_view problem) {
  throw UserError(
      std::string(file) + ": " + std::string(problem),
      "the file is damaged or was not written by dtrain; use an older checkpoint (`dtrain ckpt ls`) or a copy");
}

json parse_strict(std::string_view text, std::string_view file) {
  std::vector<std::set<std::string>> keys;  // of the objects that are open
  const auto check = [&](int depth, json::parse_event_t event, json& value) {
    if (depth > static_cast<int>(kMaxDepth)) damaged(file, "JSON nested more than 32 deep");
    if (event == json::parse_event_t::object_start) keys.emplace_back();
    if (event == json::parse_event_t::object_end) keys.pop_back();
    if (event == json::parse_event_t::key && !keys.back().insert(value.get<std::string>()).second) {
      damaged(file, "'" + value.get<std::string>() + "' appears twice");
    }
    return true;
  };
  json value;
  try {
    value = json::parse(text, check);
  } catch (const json::exception& e) {
    damaged(file, std::string("not JSON: ") + e.what());
  }
  if (!value.is_object()) damaged(file, "not a JSON object");
  return value;
}

Fields::Fields(const json& object, std::string_view file, std::string place)
    : object_(object), file_(file), place_(std::move(place)) {
  if (!object_.is_object()) fail("not a JSON object");
}

void Fields::fail(std::string_view problem) const {
  damaged(file_, place_.empty() ? std::string(problem) : place_ + ": " + std::string(problem));
}

const json& Fields::at(const char* key) const {
  const auto it = object_.find(key);
  if (it == object_.end()) fail("'" + std::string(key) + "' is missing");
  return *it;
}

std::string Fields::string(const char* key) const {
  const auto& value = at(key);
  if (!value.is_string()) fail("'" + std::string(key) + "' is not a string");
  return value.get<std::string>();
}

std::int64_t Fields::integer(const char* key) const {
  const auto number = natural(at(key));
  if (!number) fail("'" + std::string(key) + "' is not an integer in 0 .. 2^63-1");
  return *number;
}

const json& Fields::array(const char* key) const {
  const auto& value = at(key);
  if (!value.is_array()) fail("'" + std::string(key) + "' is not a list");
  return value;
}

std::vector<std::int64_t> Fields::integers(const char* key) const {
  std::vector<std::int64_t> out;
  for (const auto& value : array(key)) {
    const auto number = natural(value);
    if (!number) fail("'" + std::string(key) + "' has an element that is not an integer in 0 .. 2^63-1");
    out.push_back(*number);
  }
  return out;
}

DType Fields::dtype(const char* key) const {
  const auto name = string(key);
  const auto type = dtype_of(name);
  if (!type) fail("unknown dtype '" + name + "' (known: F32, F64, F16, BF16, I64, I32, U16, U8)");
  return *type;
}

}  // namespace dtrain::ckpt
