// SPDX-License-Identifier: Apache-2.0
//
// dtrain run: trains what a recipe says.
#include <dtrain/error.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/verbs.h"
#include "core/base/cpu_budget.h"
#include "core/base/fault.h"
#include "core/base/process.h"
#include "core/launch/client.h"
#include "core/launch/run_dir.h"
#include "core/launch/runtime_library.h"
#include "core/launch/thread_variables.h"
#include "core/observe/terminal_view.h"
#include "core/plan/make_plan.h"
#include "core/plan/train_request.h"
#include "core/recipe/recipe_errors.h"

namespace dtrain::cli {
namespace {

using nlohmann::ordered_json;

struct RunOptions {
  RecipeRequest recipe;
  std::string run_dir;
  std::string resume = "auto";
  bool allow_drift = false;
  bool in_process = false;
  bool detach = false;
  bool dry_run = false;
  bool json = false;
};

RunRequest request_of(const RunOptions& options, Plan plan) {
  RunRequest request;
  request.name = plan.name;
  request.new_run_dir = options.run_dir.empty();
  request.run_dir =
      std::filesystem::absolute(request.new_run_dir ? default_run_dir(plan.name) : std::filesystem::path(options.run_dir)).string();
  request.ranks = static_cast<int>(plan.ranks);
  request.threads = plan.threads;
  request.grace_s = plan.grace_s;
  request.detach = options.detach;
  request.dry_run = options.dry_run;
  request.plan_json =
      to_json(TrainRequest{.plan = std::move(plan), .resume = options.resume, .allow_drift = options.allow_drift});
  return request;
}

void warn_of_too_many_threads(const RunRequest& request, RunView& view) {
  const auto usable = cpu_budget().usable();
  const auto wanted = request.ranks * request.threads;
  if (wanted <= usable) return;
  view.note(std::to_string(request.ranks) + " ranks of " + std::to_string(request.threads) + " threads want " +
            std::to_string(wanted) + " processors and " + std::to_string(usable) +
            " can be used: the ranks will wait for each other; " +
            std::to_string(std::max<std::int64_t>(1, usable / request.threads)) + " ranks would be faster");
}

Outcome run_here(const RunRequest& request, RunView& view) {
  for (const auto& line : ignored_thread_variables(request.threads)) view.note(line);
  // Before the runtime and the libraries it brings read them.
  for (const char* name : kThreadVariables) ::setenv(name, std::to_string(request.threads).c_str(), 1);
  using Entry = int (*)(const RunRequest*, RunView*, Outcome*);
  Outcome outcome;
  reinterpret_cast<Entry>(runtime_entry("dtrain_runtime_in_process"))(&request, &view, &outcome);
  return outcome;
}

ordered_json parsed(const std::string& json) {
  return json.empty() ? ordered_json() : ordered_json::parse(json, nullptr, false);
}

void print_json(const Outcome& outcome, const TerminalView& view) {
  ordered_json out = {{"format", 1},
                      {"exit_code", outcome.exit_code},
                      {"run_dir", outcome.run_dir},
                      {"message", outcome.message},
                      {"hint", outcome.hint},
                      {"signal", outcome.signal},
                      {"last_step", parsed(view.last_step())},
                      {"summary", parsed(view.summary())},
                      {"failure", nullptr}};
  if (const auto& failure = outcome.failure) {
    out["failure"] = {{"rank", failure->rank},
                      {"host", failure->host},
                      {"status", describe_status(failure->wait_status)},
                      {"phase", failure->phase},
                      {"step", failure->step},
                      {"last_words", failure->words ? failure->words->message : failure->last_line}};
  }
  std::cout << out.dump(-1, ' ', false, ordered_json::error_handler_t::replace) << '\n';
}

void print_end(const Outcome& outcome) {
  if (outcome.message.empty()) return;
  std::cerr << "dtrain: " << (outcome.exit_code > 128 ? "" : "error: ");
  if (!outcome.place.empty()) std::cerr << outcome.place << ": ";
  std::cerr << outcome.message << '\n';
  if (!outcome.hint.empty()) std::cerr << "  hint: " << outcome.hint << '\n';
}

int run(RunOptions options) {
  fault::arm_from_environment();
  if (options.in_process && options.detach)
    throw UserError("--in-process and --detach exclude each other", "leave one out");
  if (options.in_process && options.recipe.ranks.value_or(1) != 1) {
    throw UserError("--in-process runs one rank, and --ranks asks for " + std::to_string(*options.recipe.ranks),
                    "leave one out");
  }
  if (options.in_process) options.recipe.ranks = 1;
  options.recipe.in = &std::cin;
  auto plan = make_plan(options.recipe);

  Console console(STDERR_FILENO);
  TerminalView view(console);
  for (const auto& text : plan.notes) view.note(text);
  const auto request = request_of(options, std::move(plan));
  warn_of_too_many_threads(request, view);
  const auto outcome = options.in_process ? run_here(request, view) : run_client(request, view);
  view.finish();
  print_end(outcome);
  if (options.json) {
    print_json(outcome, view);
  } else if (options.detach && outcome.exit_code == 0) {
    std::cout << outcome.run_dir << '\n';
  }
  return outcome.exit_code;
}

// With --json there is an object on standard output however the command ends.
int run_and_report(const RunOptions& options) {
  const auto report = [&](int exit_code, const char* message, const std::string& hint) {
    if (!options.json) return;
    std::cout << ordered_json{{"format", 1}, {"exit_code", exit_code}, {"message", message}, {"hint", hint}}.dump(
                     -1, ' ', false, ordered_json::error_handler_t::replace)
              << '\n';
  };
  try {
    return run(options);
  } catch (const UserError& e) {
    report(e.exit_code(), e.what(), e.hint());
    throw;
  } catch (const RecipeErrors& e) {
    report(2, e.what(), "");
    throw;
  }
}

}  // namespace

void add_run(CLI::App& app, Action& action) {
  auto* verb = app.add_subcommand("run", "Train what a recipe says");
  auto o = std::make_shared<RunOptions>();
  verb->add_option("RECIPE", o->recipe.path, "TOML file, or - for standard input")->required();
  verb->add_option("--ranks", o->recipe.ranks, "Processes to train with, instead of launch.ranks");
  verb->add_option("--set", o->recipe.sets, "KEY=VALUE: overrides one value of the recipe")
      ->allow_extra_args(false)
      ->take_all();
  verb->add_option("--run-dir", o->run_dir, "Where the run keeps its files (default: runs/NAME-DATE-TIME)");
  verb->add_option("--resume", o->resume, "auto, never, or a checkpoint or run directory")->capture_default_str();
  verb->add_flag("--allow-drift", o->allow_drift, "Resume although values that change the training's path differ");
  verb->add_option("--plugin", o->recipe.plugin_files, "A plugin file to look into first")
      ->allow_extra_args(false)
      ->take_all();
  verb->add_option("--site", o->recipe.site, "TOML file with facts of this site, below the recipe");
  verb->add_flag("--in-process", o->in_process, "One rank in this process, without forks, for debuggers");
  verb->add_flag("--detach", o->detach, "Return once the ranks have started; print the run directory");
  verb->add_flag("--dry-run", o->dry_run, "Load and check everything, start no rank, write nothing");
  verb->add_flag("--json", o->json, "Print one JSON object on standard output at the end");
  verb->callback([&action, o] { action = [o] { return run_and_report(*o); }; });
}

}  // namespace dtrain::cli
