// SPDX-License-Identifier: Apache-2.0
//
// The runtime, a shared library that holds everything that needs libtorch. It is opened by the host process alone (and
// by `run --in-process`), so that whatever only reads recipes starts in milliseconds. Its C entries:
//   int dtrain_runtime_host(int agent_socket)
//     makes its HostProgram, returns serve_host(agent_socket, program).
//   int dtrain_runtime_in_process(const dtrain::RunRequest* request, dtrain::RunView* view, dtrain::Outcome* outcome)
//     makes its HostProgram, stores run_in_process(*request, program, *view), returns 0.
// They do not throw.
#pragma once

#include <filesystem>

namespace dtrain {

// Environment variable DTRAIN_RUNTIME, else the installed one, beside this executable.
std::filesystem::path runtime_path();

// Opens the runtime (RTLD_NOW | RTLD_LOCAL) and returns the address of an entry. UserError (exit 2) with the path and
// the loader's text.
void* runtime_entry(const char* name);

}  // namespace dtrain
