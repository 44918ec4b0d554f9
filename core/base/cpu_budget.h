// SPDX-License-Identifier: Apache-2.0
//
// How many processors this process may really use: what the machine has, cut by the affinity mask (taskset, Slurm) and
// by the CPU quota of its control groups (containers).
#pragma once

#include <filesystem>
#include <optional>

namespace dtrain {

struct CpuBudget {
  int online = 0;               // of the machine
  int affinity = 0;             // in this process's mask
  std::optional<double> quota;  // processors' worth of time; nothing when unlimited

  // Compute threads that can run at the same time: at least 1.
  int usable() const;
};

// `root` stands in for "/" in tests: /proc/self/cgroup and /sys/fs/cgroup are read below it (cgroup v1 and v2).
CpuBudget cpu_budget(const std::filesystem::path& root = "/");

}  // namespace dtrain
