// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/launch/host_program.h"

namespace dtrain {

// The life of a node's host process: prepares the run as its agent asks, then forks the workers it asks for, until the
// agent closes the socket. Called by the runtime on the process's only thread, with the program it has made. In a
// forked worker it does not return. Returns the exit code of the host.
//
// The process must have one thread once prepare has returned (a forked child would wait for ever for the others): more
// is refused, with their names.
int serve_host(int agent_socket, HostProgram& program);

}  // namespace dtrain
