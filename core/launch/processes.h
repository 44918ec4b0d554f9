// SPDX-License-Identifier: Apache-2.0
//
// What the binary does when dtrain starts itself again: `dtrain agent-process` and `dtrain host-process`. Both find
// their socket at descriptor kControlFd.
#pragma once

namespace dtrain {

inline constexpr int kControlFd = 3;
inline constexpr const char* kAgentVerb = "agent-process";
inline constexpr const char* kHostVerb = "host-process";

// Return the process's exit code; they do not throw.
int agent_process_main();
int host_process_main();

}  // namespace dtrain
