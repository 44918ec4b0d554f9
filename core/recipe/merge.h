// SPDX-License-Identifier: Apache-2.0
//
// Lays one recipe over another: `extends`, the site file, --set.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/recipe/recipe_errors.h"
#include "core/recipe/value.h"

namespace dtrain {

// Tables merge key by key, anything else is replaced. Where `over` names another component than `base`, the keys of the
// old component leave the table; each is mentioned in `notes`.
void merge(Table& base, Table over, std::vector<std::string>& notes);

// "--set KEY=VALUE": `number` counts from 1. Bad form is a mistake. A part of KEY that is a number picks an element of
// a list.
struct Setting {
  int number = 0;
  std::vector<std::string> path;
  std::string value;

  Place place() const { return {"--set #" + std::to_string(number), 0, 0}; }
};
std::vector<Setting> parse_settings(const std::vector<std::string>& texts, MistakeList& mistakes);

// Values become RawText. The choice of a component is applied before the options in its table, whatever their order.
// `folder`: what relative paths are relative to.
void apply(std::vector<Setting> settings, Table& root, const std::string& folder, MistakeList& mistakes,
           std::vector<std::string>& notes);

}  // namespace dtrain
