// SPDX-License-Identifier: Apache-2.0
//
// Runs the built dtrain as a user would.
#pragma once

#include <csignal>
#include <filesystem>
#include <map>
#include <string>
#include <sys/types.h>
#include <vector>

namespace dtrain::testing_support {

struct CommandResult {
  int exit_code = -1;  // 128 + n when signal n ended it
  std::string out;
  std::string err;
};

// A started dtrain in a process group of its own. Output goes to files in `folder`.
class Command {
 public:
  Command(const std::filesystem::path& folder, std::vector<std::string> arguments,
          const std::map<std::string, std::string>& environment = {});
  ~Command();  // kills what is left of it
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;

  pid_t pid() const { return pid_; }
  CommandResult wait();
  // Returns when the standard error holds `text`, or the command has ended; true in the first case.
  bool wait_for_error(const std::string& text);

 private:
  std::filesystem::path out_, err_;
  pid_t pid_ = -1;
};

// Start and wait.
CommandResult run_dtrain(const std::filesystem::path& folder, std::vector<std::string> arguments,
                         const std::map<std::string, std::string>& environment = {});

std::string read_file(const std::filesystem::path& file);

}  // namespace dtrain::testing_support
