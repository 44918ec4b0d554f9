// SPDX-License-Identifier: Apache-2.0
//
// A recipe against what the host's tables and the chosen components allow: every key known, every value of its type and
// range, defaults filled in, each with where it comes from.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/plugin/option.h"
#include "core/recipe/component_source.h"
#include "core/recipe/host_tables.h"
#include "core/recipe/recipe.h"

namespace dtrain {

struct CheckedOption {
  OptionSpec spec;
  OptionValue value;
  std::string origin;  // "recipes/a.toml:3:1", "--set #1 (replaces ...)", "default"
  Place place;         // unknown for a default
  bool host = false;   // declared by dtrain, not by the component

  bool given() const { return origin != "default"; }
};

struct CheckedTable {
  std::string path;                        // "optimizer", "data.train.0"
  std::string component_kind;              // empty: no component
  std::string component;                   // the component's name; empty: none, or it is unknown (a mistake)
  std::optional<CatalogEntry> entry;       // into the ComponentSource
  ResumeRule rule = ResumeRule::identity;  // of the choice of component
  std::string origin;                      // of that choice
  Place place;                             // of that choice, else of the table
  std::vector<CheckedOption> options;      // given or default; those in error are missing

  const CheckedOption* find(std::string_view name) const;
};

struct CheckedList {
  const ListSpec* spec = nullptr;
  std::string path = {};  // "data.train"
  Place place;            // unknown when the recipe has no such list
  std::vector<CheckedTable> elements;
};

struct CheckedSection {
  const TableSpec* spec = nullptr;
  bool present = false;  // the recipe has the table
  CheckedTable table;
  std::vector<CheckedList> lists;
};

struct CheckedRecipe {
  std::vector<CheckedSection> sections;  // in the order of host_tables()

  const CheckedSection& section(std::string_view name) const;
  const CheckedList& list(std::string_view table, std::string_view name) const;
};

// Adds every mistake it finds. Values in error are left out of the result.
CheckedRecipe check_recipe(const Recipe& recipe, const ComponentSource& components, MistakeList& mistakes);

}  // namespace dtrain
