// SPDX-License-Identifier: Apache-2.0
//
// dtrain logs RUN [-f] [--rank N]: what the ranks of a run have printed.
#include <CLI/CLI.hpp>
#include <chrono>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <thread>

#include "cli/verbs.h"
#include "core/launch/registry.h"
#include "core/launch/run_dir.h"
#include "core/observe/log_reader.h"

namespace dtrain::cli {
namespace {

constexpr std::chrono::milliseconds kPoll{200};

struct LogsOptions {
  std::string run;
  bool follow = false;
  std::optional<int> rank;
};

int print_logs(const LogsOptions& options) {
  const std::filesystem::path dir =
      std::filesystem::is_directory(options.run) ? options.run : find_run(options.run).run_dir;
  LogReader reader(dir, options.rank);
  while (true) {
    const bool running = run_dir_holder(dir).has_value();  // before reading: what comes after it is read next time
    std::cout << reader.read_new() << std::flush;
    if (!options.follow || !running || !std::cout) return 0;
    std::this_thread::sleep_for(kPoll);
  }
}

}  // namespace

void add_logs(CLI::App& app, Action& action) {
  auto* verb = app.add_subcommand("logs", "Print what the ranks of a run have printed");
  auto options = std::make_shared<LogsOptions>();
  verb->add_option("RUN", options->run, "Run directory, or a running run's last component or process id")->required();
  verb->add_flag("-f,--follow", options->follow, "Go on until the run ends");
  verb->add_option("--rank", options->rank, "Only this rank, without tags")->check(CLI::NonNegativeNumber);
  verb->callback([&action, options] { action = [options] { return print_logs(*options); }; });
}

}  // namespace dtrain::cli
