// SPDX-License-Identifier: Apache-2.0
#include <dtrain/error.h>

#include <CLI/CLI.hpp>
#include <iostream>

#include "cli/verbs.h"

int main(int argc, char** argv) {
  CLI::App app{"dtrain: elastic, fault-tolerant, bit-reproducible deep-learning training"};
  dtrain::cli::Action action;
  app.require_subcommand(1);
  // One line a verb, in the order of --help.
  dtrain::cli::add_plugin_verb(app, action);
  dtrain::cli::add_doctor(app, action);

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 2;
  }
  try {
    return action();
  } catch (const dtrain::UserError& e) {
    std::cerr << "dtrain: error: ";
    if (e.place().known()) std::cerr << e.place().text() << ": ";
    std::cerr << e.message() << '\n';
    if (!e.hint().empty()) std::cerr << "  hint: " << e.hint() << '\n';
    return e.exit_code();
  } catch (const std::exception& e) {
    std::cerr << "dtrain: internal error: " << e.what() << '\n';
    return 1;
  }
}
