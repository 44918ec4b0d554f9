// SPDX-License-Identifier: Apache-2.0
//
// Which components there are, as far as checking a recipe needs to know.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/plugin/catalog.h"

namespace dtrain {

class ComponentSource {
 public:
  virtual ~ComponentSource() = default;

  virtual std::vector<CatalogEntry> of_kind(std::string_view kind) const = 0;  // in order of name
  virtual std::optional<CatalogEntry> find(std::string_view kind, std::string_view name) const = 0;
  virtual std::vector<std::string> searched() const = 0;  // files and folders, in order
};

}  // namespace dtrain
