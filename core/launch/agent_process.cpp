// SPDX-License-Identifier: Apache-2.0
#include <csignal>
#include <iostream>

#include "core/launch/agent.h"
#include "core/launch/processes.h"
#include "core/launch/stop_signals.h"

namespace dtrain {

int agent_process_main() {
  block_stop_signals({SIGCHLD});
  try {
    return Agent(UniqueFd(kControlFd)).run();
  } catch (const std::exception& e) {
    // A broken promise: the workers and the host die with this process, and the client reports that.
    std::cerr << "dtrain: the agent failed: " << e.what() << std::endl;
    return 1;
  }
}

}  // namespace dtrain
