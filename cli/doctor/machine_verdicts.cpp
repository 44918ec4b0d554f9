// SPDX-License-Identifier: Apache-2.0
//
// The verdicts of machine.h: pure functions of what was gathered.
#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "cli/doctor/machine.h"

namespace dtrain::doctor {
namespace {

constexpr std::uint64_t kKiB = 1024, kMiB = kKiB * 1024, kGiB = kMiB * 1024;

Finding ok(std::string name, std::string value) {
  return {std::move(name), Verdict::ok, std::move(value), {}};
}
Finding warn(std::string name, std::string value, std::string fix) {
  return {std::move(name), Verdict::warn, std::move(value), std::move(fix)};
}
Finding fail(std::string name, std::string value, std::string fix) {
  return {std::move(name), Verdict::fail, std::move(value), std::move(fix)};
}

std::string decimals(double value, int digits) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

std::string counted(int n, const std::string& noun) {
  return std::to_string(n) + " " + noun + (n == 1 ? "" : "s");
}

}  // namespace

std::string human_bytes(std::uint64_t bytes) {
  const double value = static_cast<double>(bytes);
  if (bytes >= kGiB) return decimals(value / static_cast<double>(kGiB), 1) + " GiB";
  if (bytes >= kMiB) return decimals(value / static_cast<double>(kMiB), 0) + " MiB";
  return decimals(value / static_cast<double>(kKiB), 0) + " KiB";
}

Finding judge_instruction_set(const std::vector<std::string>& features) {
  const auto has = [&features](const char* name) {
    return std::find(features.begin(), features.end(), name) != features.end();
  };
  std::string list;
  for (const auto& name : features) list += (list.empty() ? "" : " ") + name;
  if (has("avx2") || has("asimd")) return ok("instruction set", list);
  return warn(
      "instruction set", list.empty() ? "no AVX2" : list + ", no AVX2",
      "use a processor with AVX2 (2013 or later), or a virtual machine that passes it through: training is several "
      "times slower without");
}

Finding judge_cpus(const CpuBudget& budget) {
  std::string value = std::to_string(budget.usable()) + " usable of " + std::to_string(budget.online);
  if (budget.affinity < budget.online) value += ", affinity mask allows " + std::to_string(budget.affinity);
  if (budget.quota) value += ", control group allows " + decimals(*budget.quota, 2);
  if (budget.quota && *budget.quota < budget.affinity) {
    return warn("processors", value,
                "start at most " + counted(budget.usable(), "compute thread") +
                    " (ranks x train.threads), or raise the CPU quota of the container");
  }
  return ok("processors", value);
}

Finding judge_threads(const std::vector<std::pair<std::string, std::string>>& variables, const CpuBudget& budget) {
  const auto room =
      "1 a rank unless the recipe sets train.threads; room for " + counted(budget.usable(), "rank") + " of 1";
  if (variables.empty()) return ok("threads", room);
  std::string list;
  for (const auto& [name, value] : variables) list += (list.empty() ? "" : " ") + name + "=" + value;
  return warn("threads", room + "; " + list + " is ignored", "unset it, and set train.threads in the recipe instead");
}

Finding judge_memory(const MemoryFacts& facts) {
  std::string value = human_bytes(facts.available) + " available of " + human_bytes(facts.total);
  std::uint64_t usable = facts.available;
  if (facts.limit && *facts.limit < facts.total) {
    value += ", control group allows " + human_bytes(*facts.limit);
    usable = std::min(usable, *facts.limit);
  }
  if (usable < kGiB)
    return warn("memory", value, "free some memory or raise the limit: libtorch alone takes about 300 MiB a node");
  return ok("memory", value);
}

Finding judge_shared_memory(const SpaceFacts& facts) {
  if (!facts.error.empty()) return warn("shared memory", "/dev/shm: " + facts.error, "mount a tmpfs on /dev/shm");
  const auto value = "/dev/shm: " + human_bytes(facts.free) + " free of " + human_bytes(facts.total);
  if (facts.free < 256 * kMiB) {
    return warn("shared memory", value, "enlarge it: docker run --shm-size=2g, or mount -o remount,size=2g /dev/shm");
  }
  return ok("shared memory", value);
}

Finding judge_memfd(const std::string& error) {
  if (error.empty()) return ok("memfd", "available");
  return fail("memfd", "memfd_create or mapping it failed: " + error,
              "use Linux 3.17 or later and a container profile that allows memfd_create: dtrain keeps its state there");
}

Finding judge_huge_pages(const std::string& mode) {
  if (mode.empty()) return ok("huge pages", "not offered by this kernel");
  if (mode != "never") return ok("huge pages", mode);
  return warn("huge pages", mode, "echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled");
}

Finding judge_open_files(std::uint64_t soft, std::uint64_t hard) {
  const auto text = [](std::uint64_t n) { return n == RLIM_INFINITY ? std::string("unlimited") : std::to_string(n); };
  const auto value = text(soft) + " (hard limit " + text(hard) + ")";
  const std::string fix = "ulimit -n 4096, or LimitNOFILE= in the service unit";
  if (soft < 256) return fail("open files", value, fix);
  if (soft < 1024) return warn("open files", value, fix);
  return ok("open files", value);
}

Finding judge_locked_memory(std::uint64_t soft) {
  if (soft == RLIM_INFINITY) return ok("locked memory", "unlimited");
  return ok("locked memory", human_bytes(soft) + " (training on the CPU locks none)");
}

Finding judge_disk(const std::string& folder, const SpaceFacts& facts, bool writable) {
  if (!facts.error.empty()) return fail("disk", folder + ": " + facts.error, "change to a folder that exists");
  auto value = folder + ": " + human_bytes(facts.free) + " free of " + human_bytes(facts.total);
  if (facts.network) value += ", network file system";
  if (!writable) return warn("disk", value + ", not writable", "run from another folder or give --run-dir");
  const std::string fix =
      "free some space or give --run-dir on another disk: each checkpoint takes 12 bytes a parameter with adamw";
  if (facts.free < 64 * kMiB) return fail("disk", value, fix);
  if (facts.free < 2 * kGiB) return warn("disk", value, fix);
  return ok("disk", value);
}

Finding judge_clock(const std::string& source, std::chrono::nanoseconds cost,
                    std::chrono::system_clock::time_point now) {
  const auto value =
      (source.empty() ? std::string("unknown source") : source) + ", " + std::to_string(cost.count()) + " ns a reading";
  constexpr std::chrono::sys_days kBuilt = std::chrono::year{2024} / 1 / 1;
  if (now < kBuilt)
    return warn("clock", value + ", set before 2024", "set the system's time: TLS and time stamps depend on it");
  if (cost > std::chrono::microseconds(1)) {
    return warn("clock", value,
                "use the tsc clock source (kernel parameter clocksource=tsc) where the hypervisor allows it");
  }
  return ok("clock", value);
}

}  // namespace dtrain::doctor
