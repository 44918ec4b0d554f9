// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/launch/messages.h"
#include "core/launch/run_view.h"

namespace dtrain {

// Starts a run and watches it to its end, or with `detach` until its workers have started. SIGINT, SIGTERM and SIGHUP
// ask for a coordinated stop; a second SIGINT ends everything at once. When it returns, no process of the run is left
// (unless detached). The process's executable must know the verbs of processes.h. UserError: the agent cannot be
// started.
Outcome run_client(const RunRequest& request, RunView& view);

}  // namespace dtrain
