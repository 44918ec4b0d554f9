// SPDX-License-Identifier: Apache-2.0
//
// Explains a key that is not allowed where it stands.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/recipe/component_source.h"

namespace dtrain {

struct UnknownKey {
  std::string table;  // "optimizer", "data.train"; empty: top level
  std::string key;
  std::vector<std::string> valid;  // keys that are allowed there
  std::string component_kind;      // of the table; empty: none
  std::string component;           // its name
};

struct KeyAdvice {
  std::string message;
  std::string hint;
};

// In this order: a key of that name elsewhere, another trainer's name for one of ours, the nearest key of the same
// table, the nearest of all.
KeyAdvice explain(const UnknownKey& unknown, const ComponentSource& components);

}  // namespace dtrain
