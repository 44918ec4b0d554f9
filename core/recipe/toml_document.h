// SPDX-License-Identifier: Apache-2.0
//
// A TOML document that is parsed again after each mistake that can be taken out of it, so that one mistake does not
// hide the next. Only the reader includes this.
#pragma once

#define TOML_HEADER_ONLY 0
#define TOML_SHARED_LIB 1
#include <toml++/toml.h>

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/recipe/recipe_errors.h"
#include "core/recipe/value.h"

namespace dtrain {

using Position = std::pair<int, int>;  // line and column, both from 1; columns count code points

// What stands at a position instead of what the mended text says.
using Replacements = std::map<Position, std::variant<HugeNumber, Unreadable>>;

inline Position position(const toml::source_position& p) {
  return {static_cast<int>(p.line), static_cast<int>(p.column)};
}

class TomlDocument {
 public:
  // References are kept.
  TomlDocument(std::string_view text, const std::string& name, MistakeList& mistakes)
      : text_(text), name_(name), mistakes_(mistakes) {}

  // std::nullopt: a mistake that could not be taken out; it has been added like all before it.
  std::optional<toml::table> read();

  const Replacements& replacements() const { return replacements_; }

 private:
  using Path = std::vector<std::string>;
  struct Line {
    std::size_t begin = 0;
    std::size_t size = 0;
  };

  Line line(int number) const;
  std::string line_text(int number) const;
  std::size_t offset(Position p) const;  // in bytes, in the whole text
  int column(std::size_t at) const;

  Path path_of_line(int number) const;    // of the key written there; empty when that cannot be told
  Path path_of_header(int number) const;  // of the table
  std::string first_place(int number, const Path& path) const;

  void add(Position p, const Path& path, std::string message, std::string hint = {});
  bool repair(const toml::parse_error& error);
  bool repair_repeated(Position where);
  void blank(int number);
  bool repair_number(Position where);
  bool repair_syntax(Position where, std::string description);

  std::string text_;
  const std::string& name_;
  MistakeList& mistakes_;
  Replacements replacements_;
  std::set<int> repaired_;  // lines
};

}  // namespace dtrain
