// SPDX-License-Identifier: Apache-2.0
//
// dtrain ps [--json]: this user's running runs on this machine.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/verbs.h"
#include "core/launch/control_port.h"
#include "core/launch/registry.h"

namespace dtrain::cli {
namespace {

using nlohmann::ordered_json;

constexpr std::chrono::seconds kPatience{2};

struct Row {
  RegisteredRun run;
  std::optional<RunStatus> status;
};

// The step that every rank has reached, and what the slowest of them does.
const WorkerStatus* slowest(const RunStatus& status) {
  const auto it = std::min_element(status.workers.begin(), status.workers.end(),
                                   [](const auto& a, const auto& b) { return a.step < b.step; });
  return it != status.workers.end() ? &*it : nullptr;
}

std::array<std::string, 7> cells(const Row& row) {
  std::string state = "not answering", step = "-", phase = "-";
  if (row.status) {
    state = row.status->state;
    if (const auto* worker = slowest(*row.status); worker != nullptr && worker->step >= 0) {
      step = std::to_string(worker->step);
      if (row.status->total_steps > 0) step += "/" + std::to_string(row.status->total_steps);
      phase = worker->phase;
    }
  }
  return {std::to_string(row.run.agent.pid),
          row.run.name,
          std::to_string(row.run.ranks),
          state,
          step,
          phase,
          row.run.run_dir};
}

void print_table(const std::vector<Row>& rows) {
  std::vector<std::array<std::string, 7>> lines = {{"PID", "NAME", "RANKS", "STATE", "STEP", "PHASE", "RUN DIRECTORY"}};
  for (const auto& row : rows) lines.push_back(cells(row));
  std::array<std::size_t, 7> width{};
  for (const auto& line : lines) {
    for (std::size_t i = 0; i < line.size(); ++i) width[i] = std::max(width[i], line[i].size());
  }
  for (const auto& line : lines) {
    for (std::size_t i = 0; i + 1 < line.size(); ++i)
      std::cout << line[i] << std::string(width[i] - line[i].size() + 2, ' ');
    std::cout << line.back() << '\n';
  }
}

void print_json(const std::vector<Row>& rows) {
  auto runs = ordered_json::array();
  for (const auto& [run, status] : rows) {
    ordered_json entry = {{"pid", run.agent.pid},   {"name", run.name},
                          {"run_dir", run.run_dir}, {"ranks", run.ranks},
                          {"started", run.started}, {"state", status ? status->state : "not answering"}};
    if (const auto* worker = status ? slowest(*status) : nullptr; worker != nullptr) {
      entry["step"] = worker->step;
      entry["phase"] = worker->phase;
      entry["total_steps"] = status->total_steps;
    }
    runs.push_back(std::move(entry));
  }
  std::cout << ordered_json{{"runs", runs}}.dump() << '\n';
}

}  // namespace

void add_ps(CLI::App& app, Action& action) {
  auto* verb = app.add_subcommand("ps", "List your running runs on this machine");
  auto json = std::make_shared<bool>(false);
  verb->add_flag("--json", *json, "Print one JSON object");
  verb->callback([&action, json] {
    action = [json] {
      std::vector<Row> rows;
      for (auto& run : running_runs()) {
        auto status = ask_status(run, kPatience);
        rows.push_back({std::move(run), std::move(status)});
      }
      *json ? print_json(rows) : print_table(rows);
      return 0;
    };
  });
}

}  // namespace dtrain::cli
