// SPDX-License-Identifier: Apache-2.0
#include "core/base/cpu_budget.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace dtrain {
namespace {

namespace fs = std::filesystem;

std::optional<double> first_number(const fs::path& file) {
  std::ifstream in(file);
  double value = 0;
  return in >> value ? std::optional(value) : std::nullopt;
}

// "max 100000" or "150000 100000", in microseconds.
std::optional<double> quota_v2(const fs::path& folder) {
  std::ifstream in(folder / "cpu.max");
  std::string quota;
  double period = 0;
  if (!(in >> quota >> period) || quota == "max" || period <= 0) return std::nullopt;
  return std::stod(quota) / period;
}

std::optional<double> quota_v1(const fs::path& folder) {
  const auto quota = first_number(folder / "cpu.cfs_quota_us");
  const auto period = first_number(folder / "cpu.cfs_period_us");
  if (!quota || !period || *quota <= 0 || *period <= 0) return std::nullopt;
  return *quota / *period;
}

// A group is bound by its own limit and by those of all above it.
template <class Reader>
void tighten(std::optional<double>& quota, const fs::path& mount, std::string group, Reader read) {
  while (true) {
    const auto here = read(mount / fs::path(group).relative_path());
    if (here && (!quota || *here < *quota)) quota = here;
    if (group.empty() || group == "/") return;
    group = fs::path(group).parent_path().string();
  }
}

std::optional<double> cgroup_quota(const fs::path& root) {
  std::optional<double> quota;
  std::ifstream in(root / "proc/self/cgroup");
  for (std::string line; std::getline(in, line);) {  // "4:cpu,cpuacct:/group", "0::/group"
    const auto first = line.find(':');
    const auto second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const auto controllers = line.substr(first + 1, second - first - 1);
    const auto group = line.substr(second + 1);
    if (controllers.empty()) {
      tighten(quota, root / "sys/fs/cgroup", group, quota_v2);
      continue;
    }
    std::stringstream names(controllers);
    for (std::string name; std::getline(names, name, ',');) {
      if (name != "cpu") continue;
      tighten(quota, root / "sys/fs/cgroup" / controllers, group, quota_v1);
      if (controllers != "cpu") tighten(quota, root / "sys/fs/cgroup/cpu", group, quota_v1);
    }
  }
  return quota;
}

int affinity_count() {
  for (int size = 1024; size <= 1 << 20; size *= 2) {  // more processors than the default mask holds
    std::vector<unsigned long> mask(static_cast<std::size_t>(size) / (8 * sizeof(unsigned long)));
    auto* set = reinterpret_cast<cpu_set_t*>(mask.data());
    if (::sched_getaffinity(0, mask.size() * sizeof(unsigned long), set) == 0) {
      return CPU_COUNT_S(mask.size() * sizeof(unsigned long), set);
    }
  }
  return 1;
}

}  // namespace

int CpuBudget::usable() const {
  int count = affinity;
  if (quota) count = std::min(count, static_cast<int>(std::floor(*quota + 0.01)));
  return std::max(count, 1);
}

CpuBudget cpu_budget(const std::filesystem::path& root) {
  return {.online = static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN)),
          .affinity = affinity_count(),
          .quota = cgroup_quota(root)};
}

}  // namespace dtrain
