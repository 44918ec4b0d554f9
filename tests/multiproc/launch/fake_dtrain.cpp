// SPDX-License-Identifier: Apache-2.0
//
// fake_dtrain run PLAN_JSON RUN_DIR|- RANKS GRACE_S [detach|in-process]: the real client, agent and host around the
// fake runtime. Prints what a client sees, one line each, on standard error.
#include <dtrain/error.h>
#include <unistd.h>

#include <cstring>
#include <iostream>

#include "core/launch/client.h"
#include "core/launch/in_process.h"
#include "core/launch/processes.h"
#include "core/launch/run_dir.h"
#include "core/launch/runtime_library.h"

namespace {

class View final : public dtrain::RunView {
 public:
  void note(std::string_view text) override { std::cerr << "note: " << text << std::endl; }
  void log(std::string_view lines) override { std::cerr << lines << std::flush; }
  void ready(const std::string& json) override { std::cerr << "ready: " << json << std::endl; }
  void started(const dtrain::Started& s) override {
    std::cerr << "started: " << s.agent_pid << ' ' << s.run_dir << std::endl;
  }
  void report(const std::string& json) override { std::cerr << "report: " << json << std::endl; }
  int blocked_output() const override { return -1; }
  void continue_output() override {}
};

int run(char** argv, int argc) {
  dtrain::RunRequest request;
  request.name = "fake";
  request.plan_json = argv[2];
  request.new_run_dir = std::strcmp(argv[3], "-") == 0;
  request.run_dir = std::filesystem::absolute(request.new_run_dir ? dtrain::default_run_dir("fake") : argv[3]);
  request.ranks = std::stoi(argv[4]);
  request.grace_s = std::stod(argv[5]);
  request.detach = argc > 6 && std::strcmp(argv[6], "detach") == 0;
  View view;
  dtrain::Outcome outcome;
  if (argc > 6 && std::strcmp(argv[6], "in-process") == 0) {
    using Entry = int (*)(const dtrain::RunRequest*, dtrain::RunView*, dtrain::Outcome*);
    reinterpret_cast<Entry>(dtrain::runtime_entry("dtrain_runtime_in_process"))(&request, &view, &outcome);
  } else {
    outcome = dtrain::run_client(request, view);
  }
  std::cerr << "outcome: " << dtrain::encode(outcome) << std::endl;
  return outcome.exit_code;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[1], dtrain::kAgentVerb) == 0) return dtrain::agent_process_main();
  if (argc == 2 && std::strcmp(argv[1], dtrain::kHostVerb) == 0) return dtrain::host_process_main();
  if (argc < 6) return 64;
  try {
    return run(argv, argc);
  } catch (const dtrain::UserError& e) {
    std::cerr << "error: " << e.message() << std::endl;
    return e.exit_code();
  }
}
