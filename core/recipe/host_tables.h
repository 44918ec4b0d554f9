// SPDX-License-Identifier: Apache-2.0
//
// The tables of a recipe and the options in them that are dtrain's own. Declared once: parser, checks, `dtrain recipe
// schema`, `dtrain plan` and the rule for resume come from here. The other keys of a table belong to the component that
// its `kind` names, and are declared by that component.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/plugin/option.h"

namespace dtrain {

inline constexpr std::int64_t kRecipeSchema = 1;

// An option of dtrain's own. For an integer, `spec.choices` holds at most one word that may stand in the number's place
// and means the default ("auto").
struct HostOption {
  OptionSpec spec;
  bool has_default = true;  // false: without the key there is no value
};

// A key that holds tables: `train = [{ kind = "text", ... }, ...]`, or one table.
struct ListSpec {
  std::string name = {};
  std::string component_kind = {};  // what an element's `kind` names; empty: elements are plain tables
  bool names = false;               // an element may be the component's name alone: metrics = ["loss"]
  std::string default_name = {};    // what a missing list means; empty: no elements
  bool required = false;
  ResumeRule rule = ResumeRule::identity;
  std::vector<HostOption> options = {};  // of each element
  std::string doc = {};
};

struct TableSpec {
  std::string name = {};
  std::string component_kind = {};  // empty: the table has no component
  std::string kind_key = "kind";
  std::string default_kind = {};           // empty: must be given
  bool optional = false;                   // without the table there is no component
  bool site = false;                       // holds facts of a machine: may stand in a --site file
  ResumeRule rule = ResumeRule::identity;  // of the choice of component
  std::vector<HostOption> options = {};
  std::vector<ListSpec> lists = {};
  std::string doc = {};

  const HostOption* option(std::string_view key) const;
  const ListSpec* list(std::string_view key) const;
  std::vector<std::string> host_keys() const;  // the kind key included
};

// In the order in which a resolved recipe has them.
std::span<const TableSpec> host_tables();
const TableSpec* host_table(std::string_view name);

}  // namespace dtrain
