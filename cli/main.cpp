// SPDX-License-Identifier: Apache-2.0
#include <dtrain/error.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "cli/verbs.h"
#include "core/base/nearest_name.h"
#include "core/recipe/recipe_errors.h"

namespace {

void add_verbs(CLI::App& app, dtrain::cli::Action& action) {
  // One line a verb, in the order of --help.
  dtrain::cli::add_run(app, action);
  dtrain::cli::add_plan(app, action);
  dtrain::cli::add_recipe(app, action);
  dtrain::cli::add_plugin_verb(app, action);
  dtrain::cli::add_doctor(app, action);
  dtrain::cli::add_ckpt(app, action);
  dtrain::cli::add_ledger(app, action);
  dtrain::cli::add_eval(app, action);
  dtrain::cli::add_generate(app, action);
  dtrain::cli::add_data(app, action);
  dtrain::cli::add_ps(app, action);
  dtrain::cli::add_status(app, action);
  dtrain::cli::add_logs(app, action);
  dtrain::cli::add_stop(app, action);
  dtrain::cli::add_processes(app, action);
}

void print(const std::string& message, const std::string& hint) {
  std::cerr << "dtrain: error: " << message << '\n';
  if (!hint.empty()) std::cerr << "  hint: " << hint << '\n';
}

std::vector<std::string> verbs_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const auto* verb : app.get_subcommands(nullptr)) names.push_back(verb->get_name());
  return names;
}

// The chosen verb, as deep as the command line goes: "recipe fmt" is two.
const CLI::App* chosen(const CLI::App* app) {
  while (!app->get_subcommands().empty()) app = app->get_subcommands().front();
  return app;
}

std::string command_of(const CLI::App* app) {
  return app->get_parent() == nullptr ? "dtrain" : command_of(app->get_parent()) + " " + app->get_name();
}

// A word where a verb should stand: the parser only says that it is one too many.
bool explain_unknown_verb(const CLI::App& app, int argc, char** argv) {
  const auto* level = &app;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const auto verbs = verbs_of(*level);
    if (word.starts_with('-') || verbs.empty()) return false;
    if (std::count(verbs.begin(), verbs.end(), word) > 0) {
      level = level->get_subcommand(word);
      continue;
    }
    std::string known;
    for (const auto& verb : verbs) known += (known.empty() ? "" : ", ") + verb;
    const auto near = dtrain::nearest_name(word, verbs);
    print(command_of(level) + ": there is no verb '" + word + "'" +
              (near.empty() ? "" : "; did you mean '" + near + "'?"),
          "verbs: " + known);
    return true;
  }
  return false;
}

int usage_error(const CLI::App& app, const CLI::ParseError& error, int argc, char** argv) {
  if (explain_unknown_verb(app, argc, argv)) return 2;
  const auto command = command_of(chosen(&app));
  print(command + ": " + error.what(), command + " --help");
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"dtrain: elastic, fault-tolerant, bit-reproducible deep-learning training", "dtrain"};
  dtrain::cli::Action action;
  app.require_subcommand(1);
  app.set_version_flag("--version", "dtrain " DTRAIN_VERSION);
  app.footer(
      "Exit codes: 0 done; 1 failed while running; 2 bad usage, recipe, input or plugin, found before training;\n"
      "4 diverged; 128+n ended by signal n. `dtrain VERB --help` explains a verb.");
  add_verbs(app, action);

  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& asked) {
    return app.exit(asked);
  } catch (const CLI::ParseError& error) {
    return usage_error(app, error, argc, argv);
  }
  try {
    return action();
  } catch (const dtrain::RecipeErrors& errors) {
    for (const auto& mistake : errors.mistakes()) print(mistake.text(), mistake.hint);
    return 2;
  } catch (const dtrain::UserError& error) {
    print((error.place().known() ? error.place().text() + ": " : "") + error.message(), error.hint());
    return error.exit_code();
  } catch (const std::exception& error) {
    std::cerr << "dtrain: internal error: " << error.what() << '\n';
    return 1;
  }
}
