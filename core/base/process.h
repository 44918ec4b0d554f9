// SPDX-License-Identifier: Apache-2.0
//
// What Linux tells about processes.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/unique_fd.h"

namespace dtrain {

// A name for a process that is never reused while the machine is up: its number and its start time in clock ticks.
struct ProcessId {
  pid_t pid = 0;
  std::uint64_t start_time = 0;

  bool operator==(const ProcessId&) const = default;
};

// std::nullopt: no such process, or a zombie.
std::optional<ProcessId> process_id(pid_t pid);
inline bool alive(const ProcessId& process) {
  return process_id(process.pid) == process;
}

// A descriptor that becomes readable when the process ends. Invalid when there is none.
UniqueFd pidfd_open(pid_t pid);

// Sends a signal to exactly this process: false when it is gone, or its number belongs to another.
bool signal_process(const ProcessId& process, int signal);

std::vector<pid_t> children_of(pid_t pid);
int thread_count();                       // of this process
std::vector<std::string> thread_names();  // of this process
std::vector<int> open_descriptors();      // of this process, ascending
void close_descriptors_except(std::vector<int> keep);

// "SIGKILL"; "signal 64" when it has no name.
std::string signal_name(int signal);

// "was killed by signal 9 (SIGKILL)" or "ended with exit code 17", from a wait status.
std::string describe_status(int wait_status);

std::string host_name();

}  // namespace dtrain
