// SPDX-License-Identifier: Apache-2.0
//
// dtrain stop RUN [--timeout SECONDS]: all ranks of a running run stop after the same step, with a checkpoint.
#include <dtrain/error.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <iostream>
#include <memory>

#include "cli/verbs.h"
#include "core/launch/control_port.h"
#include "core/launch/registry.h"

namespace dtrain::cli {
namespace {

int stop(const std::string& which, double timeout_s) {
  const auto run = find_run(which);
  const auto timeout = std::chrono::milliseconds(static_cast<std::int64_t>(timeout_s * 1000));
  if (!ask_stop(run, SIGTERM, timeout)) {
    throw UserError(
        run.run_dir + " has not ended within " + std::to_string(timeout.count() / 1000) + " s",
        "dtrain status shows what it does; kill " + std::to_string(run.agent.pid) + " with SIGKILL ends it at once", {},
        1);
  }
  std::cerr << "dtrain: " << run.run_dir << " has stopped\n";
  return 0;
}

}  // namespace

void add_stop(CLI::App& app, Action& action) {
  auto* verb =
      app.add_subcommand("stop", "Stop a running run after its step, with a checkpoint; waits until it has ended");
  auto which = std::make_shared<std::string>();
  auto timeout = std::make_shared<double>(120);
  verb->add_option("RUN", *which, "Run directory, its last component, or process id (see dtrain ps)")->required();
  verb->add_option("--timeout", *timeout, "Seconds to wait for the end")
      ->check(CLI::Range(0.0, 1e6))
      ->capture_default_str();
  verb->callback([&action, which, timeout] { action = [which, timeout] { return stop(*which, *timeout); }; });
}

}  // namespace dtrain::cli
