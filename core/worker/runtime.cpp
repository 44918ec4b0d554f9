// SPDX-License-Identifier: Apache-2.0
//
// The C entries of libdtrain_runtime.so, the only part of dtrain that links libtorch. The host process opens it.
#include <iostream>

#include "core/launch/host.h"
#include "core/launch/in_process.h"
#include "core/worker/commands.h"
#include "core/worker/training_program.h"

#define DTRAIN_RUNTIME_ENTRY extern "C" [[gnu::visibility("default")]]

// Runs the host process over its agent's socket. Returns the exit code of the process.
DTRAIN_RUNTIME_ENTRY int dtrain_runtime_host(int agent_socket) {
  dtrain::TrainingProgram program;
  return dtrain::serve_host(agent_socket, program);
}

// One rank in the calling process; `outcome` says how it ended.
DTRAIN_RUNTIME_ENTRY int dtrain_runtime_in_process(const dtrain::RunRequest* request, dtrain::RunView* view,
                                                   dtrain::Outcome* outcome) {
  dtrain::TrainingProgram program;
  *outcome = dtrain::run_in_process(*request, program, *view);
  return 0;
}

namespace {

// Runs `command`, printing errors as main() does.
template <class Command>
int guarded(const Command& command) {
  try {
    return command();
  } catch (const dtrain::UserError& e) {
    std::cerr << "dtrain: error: " << e.message() << '\n';
    if (!e.hint().empty()) std::cerr << "  hint: " << e.hint() << '\n';
    return e.exit_code();
  } catch (const std::exception& e) {
    std::cerr << "dtrain: error: " << e.what() << '\n';
    return 1;
  }
}

}  // namespace

DTRAIN_RUNTIME_ENTRY int dtrain_runtime_eval(const char* plan_json, const char* target, int json) {
  return guarded([&] { return dtrain::run_eval(plan_json, {.target = target, .json = json != 0}); });
}

DTRAIN_RUNTIME_ENTRY int dtrain_runtime_generate(const char* plan_json, const char* target, const char* prompt,
                                                 std::int64_t max_tokens, double temperature, std::int64_t top_k,
                                                 std::uint64_t seed) {
  return guarded([&] {
    return dtrain::run_generate(plan_json, {.target = target,
                                            .prompt = prompt,
                                            .sampling = {.max_tokens = max_tokens,
                                                         .temperature = temperature,
                                                         .top_k = top_k,
                                                         .seed = seed}});
  });
}
