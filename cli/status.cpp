// SPDX-License-Identifier: Apache-2.0
//
// dtrain status RUN [--json]: what each rank of a running run does.
#include <dtrain/error.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <iostream>
#include <memory>

#include "cli/verbs.h"
#include "core/launch/control_port.h"
#include "core/launch/registry.h"
#include "core/observe/text_table.h"

namespace dtrain::cli {
namespace {

constexpr std::chrono::seconds kPatience{5};

std::string line_of(const WorkerStatus& worker) {
  char time[32];
  std::snprintf(time, sizeof time, "%.1f s", worker.seconds_in_phase);
  std::string out = "pid " + std::to_string(worker.pid);
  if (worker.ended) return out + ", ended";
  if (worker.step >= 0) out += ", step " + std::to_string(worker.step);
  if (!worker.phase.empty()) out += ", " + worker.phase + " for " + time;
  return out;
}

int print_status(const std::string& which, bool json) {
  const auto run = find_run(which);
  const auto status = ask_status(run, kPatience);
  if (!status) {
    throw UserError("the agent of " + run.run_dir + " (process " + std::to_string(run.agent.pid) + ") does not answer",
                    "it may be stopped (SIGSTOP), or ending", {}, 1);
  }
  if (json) {
    std::cout << encode(*status) << '\n';
    return 0;
  }
  TextRows rows = {{"name", status->name},
                   {"run directory", status->run_dir},
                   {"state", status->state},
                   {"agent", "pid " + std::to_string(status->agent_pid) + ", since " + run.started}};
  if (status->total_steps > 0) rows.emplace_back("steps", std::to_string(status->total_steps));
  for (const auto& worker : status->workers) rows.emplace_back("rank " + std::to_string(worker.rank), line_of(worker));
  for (const auto& row : json_rows(status->last_step)) rows.push_back(row);
  std::cout << text_table(rows);
  return 0;
}

}  // namespace

void add_status(CLI::App& app, Action& action) {
  auto* verb = app.add_subcommand("status", "Show what each rank of a running run does");
  auto which = std::make_shared<std::string>();
  auto json = std::make_shared<bool>(false);
  verb->add_option("RUN", *which, "Run directory, its last component, or process id (see dtrain ps)")->required();
  verb->add_flag("--json", *json, "Print one JSON object");
  verb->callback([&action, which, json] { action = [which, json] { return print_status(*which, *json); }; });
}

}  // namespace dtrain::cli
