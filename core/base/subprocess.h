// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <string>
#include <utility>
#include <vector>

namespace dtrain {

// How a program is started. The child has exactly the descriptors listed, default signal dispositions, an empty signal
// mask.
struct Command {
  std::string file;                                              // absolute path
  std::vector<std::string> arguments;                            // without the program's name
  std::vector<std::pair<std::string, std::string>> environment;  // over the inherited one
  std::vector<int> descriptors;                                  // the i-th becomes the child's descriptor i
  bool new_session = false;
  bool die_with_parent = false;  // SIGKILL when the starting thread's process ends
};

// Starts it and returns its process id. UserError (exit 1) with path and system text when it cannot be executed. Call
// from a single-threaded process, or one whose other threads hold no lock of the C library.
pid_t start(const Command& command);

}  // namespace dtrain
