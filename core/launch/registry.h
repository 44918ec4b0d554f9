// SPDX-License-Identifier: Apache-2.0
//
// The runs of this user on this machine: one file and one socket a run in $XDG_RUNTIME_DIR/dtrain or /tmp/dtrain-UID.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/process.h"

namespace dtrain {

struct RegisteredRun {
  ProcessId agent;
  std::string name;
  std::string run_dir;
  int ranks = 0;
  std::string started;  // UTC
  std::filesystem::path socket;
};

// The folder, made with mode 0700 when it is missing. UserError (exit 1): it belongs to another user, or cannot be
// made.
std::filesystem::path registry_folder();

// This run's entry while the object lives. The caller listens at `socket()`.
class Registration {
 public:
  explicit Registration(RegisteredRun run);
  Registration(const Registration&) = delete;
  Registration& operator=(const Registration&) = delete;
  ~Registration();

  const std::filesystem::path& socket() const { return run_.socket; }

 private:
  RegisteredRun run_;
  std::filesystem::path file_;
};

// Runs whose agent lives; entries that a killed agent has left are removed.
std::vector<RegisteredRun> running_runs();

// The running run that a user means by a process id, a run directory or its last component. UserError (exit 2): none,
// with those that are running; more than one of that name.
RegisteredRun find_run(std::string_view which);

}  // namespace dtrain
