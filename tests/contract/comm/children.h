// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

#include "tests/contract/comm/board.h"
#include "tests/contract/comm/seat.h"

namespace dtrain::test {

// Ranks as processes, for tests that kill and stop them. They die with the test.
class Children {
 public:
  // Forks `size` processes that run `body`; a process exits with 0 when nothing in it failed. The folder is their
  // board.
  Children(const std::filesystem::path& folder, int size, const Join& join, const Body& body);
  ~Children();  // kills and reaps what is left
  Children(const Children&) = delete;
  Children& operator=(const Children&) = delete;

  FolderBoard& board() { return board_; }
  pid_t pid(int rank) const { return pids_[static_cast<std::size_t>(rank)]; }
  void signal(int rank, int number) const;

  void wait_stopped(int rank) const;  // until the process has stopped itself
  std::string wait(int rank);         // its end: "exit 0", "signal 9"

 private:
  FolderBoard board_;
  std::vector<pid_t> pids_;
};

}  // namespace dtrain::test
