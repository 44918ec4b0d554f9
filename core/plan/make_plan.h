// SPDX-License-Identifier: Apache-2.0
//
// From what the command line asks for to a Plan.
#pragma once

#include <cstdint>
#include <functional>
#include <istream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/plan/plan.h"
#include "core/plugin/catalog.h"
#include "core/recipe/component_source.h"

namespace dtrain {

struct RecipeRequest {
  std::string path;                       // "-": from `in`
  std::vector<std::string> sets;          // KEY=VALUE
  std::optional<std::int64_t> ranks;      // --ranks: instead of launch.ranks
  std::vector<std::string> plugin_files;  // --plugin: added to plugins.files
  std::string site;                       // --site; empty: none
  std::istream* in = nullptr;
};

// Makes the catalog once the recipe's own plugin folders are known.
using OpenComponents = std::function<std::unique_ptr<ComponentSource>(const PluginCatalog::Places&)>;

// Reads, merges, checks and resolves. Throws RecipeErrors with every mistake, or UserError. Starts nothing and loads no
// plugin.
Plan make_plan(const RecipeRequest& request);
Plan make_plan(const RecipeRequest& request, const OpenComponents& open);

// The catalog of this process's plugin folders and of those in `places`.
std::unique_ptr<ComponentSource> open_catalog(const PluginCatalog::Places& places);

}  // namespace dtrain
