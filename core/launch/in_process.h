// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/launch/host_program.h"
#include "core/launch/messages.h"
#include "core/launch/run_view.h"

namespace dtrain {

// One rank in the calling process, without agent, host or fork, for debuggers: prepares, runs the worker on the calling
// thread, returns how it ended. The first SIGINT or SIGTERM asks for a stop, the second has its default effect. Reports
// go to the view from the thread that makes them, one at a time. Does not throw.
Outcome run_in_process(const RunRequest& request, HostProgram& program, RunView& view) noexcept;

}  // namespace dtrain
