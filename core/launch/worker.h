// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <vector>

#include "core/base/unique_fd.h"
#include "core/launch/host_program.h"

namespace dtrain {

struct WorkerStart {
  WorkerSeat seat;
  UniqueFd socket;  // to the agent
  UniqueFd log;     // becomes standard output and error
  UniqueFd phase_page;
  std::vector<int> inherited;  // the program's descriptors; all others are closed
  pid_t agent_pid = 0;
};

// Forks twice, so that the worker's parent is the agent (the nearest subreaper), and runs the program there; the worker
// ends with the process and does not return. In the caller: the worker's process id, or a negative errno.
pid_t fork_worker(WorkerStart start, HostProgram& program);

}  // namespace dtrain
