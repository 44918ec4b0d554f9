// SPDX-License-Identifier: Apache-2.0
//
// One function a verb, each in the file of its name: it adds the verb's subcommand to `app` and, when the user chose
// it, sets `action`. main() runs the action and turns exceptions into messages and exit codes; nothing below main
// exits.
#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace dtrain::cli {

using Action = std::function<int()>;  // returns the exit code

void add_ckpt(CLI::App& app, Action& action);
void add_ledger(CLI::App& app, Action& action);
void add_run(CLI::App& app, Action& action);
void add_eval(CLI::App& app, Action& action);
void add_generate(CLI::App& app, Action& action);
void add_logs(CLI::App& app, Action& action);
void add_processes(CLI::App& app, Action& action);
void add_ps(CLI::App& app, Action& action);
void add_status(CLI::App& app, Action& action);
void add_stop(CLI::App& app, Action& action);
void add_plan(CLI::App& app, Action& action);
void add_recipe(CLI::App& app, Action& action);
void add_data(CLI::App& app, Action& action);
void add_doctor(CLI::App& app, Action& action);
void add_plugin_verb(CLI::App& app, Action& action);

}  // namespace dtrain::cli
