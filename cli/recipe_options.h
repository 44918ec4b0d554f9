// SPDX-License-Identifier: Apache-2.0
//
// The options that every verb which reads a recipe has.
#pragma once

#include <CLI/CLI.hpp>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include "core/plan/make_plan.h"

namespace dtrain::cli {

struct RecipeOptions {
  std::string recipe;
  std::vector<std::string> sets, plugins;
  std::optional<std::int64_t> ranks;
  std::string site;

  // The options are bound to this object, which must outlive the parse.
  void add_to(CLI::App& verb) {
    verb.add_option("recipe", recipe, "Recipe file (TOML), or - for standard input")->required();
    add_shared(verb);
  }

  void add_shared(CLI::App& verb) {
    verb.add_option("--set", sets, "Override a value, as --set train.steps=30; may be repeated")
        ->type_name("KEY=VALUE")
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
        ->trigger_on_parse(false);
    verb.add_option("--ranks", ranks, "Worker processes, instead of launch.ranks")->type_name("N");
    verb.add_option("--plugin", plugins, "Plugin file to search first; may be repeated")
        ->type_name("FILE")
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    verb.add_option("--site", site, "Facts of this machine (TOML), laid below the recipe")->type_name("FILE");
  }

  RecipeRequest request() const { return {recipe, sets, ranks, plugins, site, &std::cin}; }
};

}  // namespace dtrain::cli
