// SPDX-License-Identifier: Apache-2.0
//
// dtrain recipe schema|fmt|diff: work on recipes as texts.
#include <dtrain/error.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>

#include "cli/recipe_options.h"
#include "cli/verbs.h"
#include "core/base/atomic_file.h"
#include "core/plan/plan_fields.h"
#include "core/recipe/format.h"
#include "core/recipe/json_schema.h"

namespace dtrain::cli {
namespace {

void add_schema(CLI::App& recipe, Action& action) {
  auto* verb = recipe.add_subcommand("schema", "Print the JSON Schema of recipes, every component found included");
  auto plugins = std::make_shared<std::vector<std::string>>();
  verb->add_option("--plugin", *plugins, "Plugin file to search first; may be repeated")->type_name("FILE");
  verb->callback([&action, plugins] {
    action = [plugins] {
      PluginCatalog::Places places;
      places.files.assign(plugins->begin(), plugins->end());
      std::cout << recipe_json_schema(*open_catalog(places)) << '\n';
      return 0;
    };
  });
}

std::string contents(const std::string& path) {
  if (path == "-") return {std::istreambuf_iterator<char>(std::cin), {}};
  errno = 0;
  std::ifstream in(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(in), {}};
  if (!in || errno == EISDIR) throw UserError("cannot read " + path + ": " + std::strerror(errno));
  return text;
}

int format(const std::string& path, bool check) {
  const auto before = contents(path);
  const auto after = format_recipe(before, path == "-" ? "stdin" : path);
  if (check) {
    if (before == after) return 0;
    std::cerr << path << ": not formatted\n  hint: dtrain recipe fmt " << path << '\n';
    return 1;
  }
  if (path == "-") {
    std::cout << after;
  } else if (before != after) {
    write_file_atomically(path, after);
    std::cout << path << ": formatted\n";
  }
  return 0;
}

void add_fmt(CLI::App& recipe, Action& action) {
  auto* verb = recipe.add_subcommand("fmt", "Lay out a recipe file in place; comments and values stay");
  auto path = std::make_shared<std::string>();
  auto check = std::make_shared<bool>(false);
  verb->add_option("recipe", *path, "Recipe file, or - from standard input to standard output")->required();
  verb->add_flag("--check", *check, "Change nothing; exit 1 when the file is not laid out so");
  verb->callback([&action, path, check] { action = [path, check] { return format(*path, *check); }; });
}

int diff(const RecipeOptions& options, const std::string& other) {
  auto request = options.request();
  const auto before = make_plan(request);
  request.path = other;
  const auto changes = compare_fields(before.fields, make_plan(request).fields);
  for (const auto& change : changes) {
    const auto shown = [](const std::string& text) { return text.empty() ? std::string("(none)") : text; };
    std::cout << change.key << ": " << shown(change.before) << " -> " << shown(change.after) << "  # "
              << rule_name(change.rule) << '\n';
  }
  return changes.empty() ? 0 : 1;
}

void add_diff(CLI::App& recipe, Action& action) {
  auto* verb = recipe.add_subcommand(
      "diff", "Compare what two recipes resolve to, with what each change means on resume; exit 1 when they differ");
  auto options = std::make_shared<RecipeOptions>();
  auto other = std::make_shared<std::string>();
  verb->add_option("before", options->recipe, "Recipe file, or - for standard input")->required();
  verb->add_option("after", *other, "Recipe file")->required();
  options->add_shared(*verb);
  verb->callback([&action, options, other] { action = [options, other] { return diff(*options, *other); }; });
}

}  // namespace

void add_recipe(CLI::App& app, Action& action) {
  auto* verb = app.add_subcommand("recipe", "Print the schema of recipes, format a recipe, compare two");
  verb->require_subcommand(1);
  add_schema(*verb, action);
  add_fmt(*verb, action);
  add_diff(*verb, action);
}

}  // namespace dtrain::cli
