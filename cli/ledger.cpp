// SPDX-License-Identifier: Apache-2.0
//
// dtrain ledger check RUN: proves that a run used each sample as often as its recipe says.
#include <iostream>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "cli/verbs.h"
#include "core/data/ledger_check.h"

namespace dtrain::cli {
namespace {

nlohmann::ordered_json to_json(const LedgerReport& report) {
  return {{"ok", report.ok()},
          {"steps", report.steps},
          {"samples", report.samples},
          {"epoch_size", report.epoch_size},
          {"steps_per_epoch", report.steps_per_epoch},
          {"whole_epochs", report.whole_epochs},
          {"samples_of_next_epoch", report.samples_of_next},
          {"torn_last_line", report.torn},
          {"problem_count", report.problem_count},
          {"problems", report.problems}};
}

int check(const std::string& run, bool json) {
  LedgerReader reader(ledger_file(run));
  const auto report = check_ledger(reader);
  (json ? std::cerr : std::cout) << describe(report);
  if (json) std::cout << to_json(report).dump() << '\n';
  return report.ok() ? 0 : 1;
}

}  // namespace

void add_ledger(CLI::App& app, Action& action) {
  struct Options {
    std::string run;
    bool json = false;
  };
  auto options = std::make_shared<Options>();
  auto* ledger = app.add_subcommand("ledger", "Prove which samples a run was fed");
  ledger->require_subcommand(1);
  auto* verb = ledger->add_subcommand("check", "Recompute every sample of every step and compare");
  verb->add_option("RUN", options->run, "Run directory")->required();
  verb->add_flag("--json", options->json, "Print one JSON object on stdout, everything else on stderr");
  verb->callback([options, &action] { action = [options] { return check(options->run, options->json); }; });
}

}  // namespace dtrain::cli
