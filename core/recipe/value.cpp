// SPDX-License-Identifier: Apache-2.0
#include "core/recipe/value.h"

#include <algorithm>

#include "core/recipe/toml_text.h"

namespace dtrain {
namespace {

struct Describe {
  std::string operator()(bool v) const { return std::string(v ? "true" : "false") + " (a boolean)"; }
  std::string operator()(std::int64_t v) const { return std::to_string(v) + " (an integer)"; }
  std::string operator()(double v) const { return toml_text(v) + " (a real number)"; }
  std::string operator()(const std::string& v) const { return toml_text(v) + " (a string)"; }
  std::string operator()(const Array& v) const {
    return v.empty() ? "an empty list" : "a list of " + std::to_string(v.size());
  }
  std::string operator()(const Table&) const { return "a table"; }
  std::string operator()(const RawText& v) const { return "'" + v.text + "'"; }
  std::string operator()(const HugeNumber& v) const { return v.literal; }
  std::string operator()(DateTime) const { return "a date or time"; }
  std::string operator()(Unreadable) const { return "an unreadable value"; }
};

}  // namespace

std::string origin_text(const Origin& origin) {
  auto out = origin.place.text();
  for (std::size_t i = 0; i < origin.replaced.size(); ++i)
    out += (i == 0 ? " (replaces " : ", ") + origin.replaced[i].text();
  return origin.replaced.empty() ? out : out + ")";
}

std::string describe(const Value& value) {
  return std::visit(Describe(), value.data);
}

const Entry* Table::entry(std::string_view key) const {
  const auto it = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& e) { return e.key == key; });
  return it == entries_.end() ? nullptr : &*it;
}

const Value* Table::find(std::string_view key) const {
  const auto* found = entry(key);
  return found == nullptr ? nullptr : &found->value;
}

Value* Table::find(std::string_view key) {
  return const_cast<Value*>(std::as_const(*this).find(key));
}

void Table::set(std::string key, Place key_place, Value value) {
  const auto it = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& e) { return e.key == key; });
  if (it == entries_.end()) {
    entries_.push_back({std::move(key), std::move(key_place), std::move(value)});
  } else {
    *it = {std::move(key), std::move(key_place), std::move(value)};
  }
}

void Table::erase(std::string_view key) {
  std::erase_if(entries_, [&](const Entry& e) { return e.key == key; });
}

}  // namespace dtrain
