// SPDX-License-Identifier: Apache-2.0
//
// dtrain agent-process, dtrain host-process: how dtrain starts itself again. Not for people, so --help does not have
// them.
#include "core/launch/processes.h"

#include <CLI/CLI.hpp>

#include "cli/verbs.h"

namespace dtrain::cli {

void add_processes(CLI::App& app, Action& action) {
  app.add_subcommand(kAgentVerb)->group("")->callback([&action] { action = agent_process_main; });
  app.add_subcommand(kHostVerb)->group("")->callback([&action] { action = host_process_main; });
}

}  // namespace dtrain::cli
