// SPDX-License-Identifier: Apache-2.0
//
// A recipe as read: a tree of values, each with the place it was written at and the places it replaced. Independent of
// the TOML library, and of what the values mean.
#pragma once

#include <dtrain/error.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace dtrain {

struct Origin {
  Place place;
  std::string folder;           // absolute; what relative paths of this value are relative to
  std::vector<Place> replaced;  // earlier definitions that this one overrides, newest first
};

// "--set #1 (replaces recipes/a.toml:3:1)"
std::string origin_text(const Origin& origin);

struct Value;
struct Entry;

// In the order of the file.
class Table {
 public:
  const Value* find(std::string_view key) const;
  Value* find(std::string_view key);
  const Entry* entry(std::string_view key) const;
  void set(std::string key, Place key_place, Value value);  // replaces in place or appends
  void erase(std::string_view key);

  const std::vector<Entry>& entries() const { return entries_; }
  std::vector<Entry>& entries() { return entries_; }

 private:
  std::vector<Entry> entries_;
};

using Array = std::vector<Value>;

// Text of a --set: it gets its type from the option it is for.
struct RawText {
  std::string text;
};

// A number that no 64-bit integer or double can hold.
struct HugeNumber {
  std::string literal;
};

// A date or time: valid TOML, never valid in a recipe.
struct DateTime {};

// Here stands a mistake that has been reported; checks pass over it.
struct Unreadable {};

struct Value {
  std::variant<bool, std::int64_t, double, std::string, Array, Table, RawText, HugeNumber, DateTime, Unreadable> data;
  Origin origin;

  template <class T>
  const T* as() const {
    return std::get_if<T>(&data);
  }
  template <class T>
  T* as() {
    return std::get_if<T>(&data);
  }
};

struct Entry {
  std::string key;
  Place key_place;
  Value value;
};

// For messages: `8.0 (a real number)`, `"8" (a string)`, `a table`.
std::string describe(const Value& value);

}  // namespace dtrain
