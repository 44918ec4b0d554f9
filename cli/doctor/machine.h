// SPDX-License-Identifier: Apache-2.0
//
// What the machine offers. Each quantity is gathered by a small function and judged by another, so that judgement is
// tested on machines that are not at hand. `root` stands in for "/".
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cli/doctor/finding.h"
#include "core/base/cpu_budget.h"

namespace dtrain::doctor {

// The features of the first processor that matter to dtrain and libtorch: "avx2", "fma", "avx512f", "avx512_bf16",
// "amx_tile" ...
std::vector<std::string> cpu_features(const std::filesystem::path& root);
Finding judge_instruction_set(const std::vector<std::string>& features);

Finding judge_cpus(const CpuBudget& budget);

// Names and values of the variables that would set thread counts: OMP_NUM_THREADS and the like.
Finding judge_threads(const std::vector<std::pair<std::string, std::string>>& variables, const CpuBudget& budget);

struct MemoryFacts {
  std::uint64_t total = 0;  // bytes
  std::uint64_t available = 0;
  std::optional<std::uint64_t> limit;  // of the control group
};
MemoryFacts memory_facts(const std::filesystem::path& root);
Finding judge_memory(const MemoryFacts& facts);

struct SpaceFacts {
  std::uint64_t total = 0;  // bytes
  std::uint64_t free = 0;   // to this user
  bool network = false;     // NFS and the like
  std::string error;        // system text when it cannot be asked
};
SpaceFacts space_facts(const std::filesystem::path& folder);
Finding judge_shared_memory(const SpaceFacts& facts);
Finding judge_disk(const std::string& folder, const SpaceFacts& facts, bool writable);

// State lives in memory of memfd_create(2). Empty when a page of it can be made and mapped, else the system's text.
std::string try_memfd();
Finding judge_memfd(const std::string& error);

// The word in brackets of /sys/kernel/mm/transparent_hugepage/enabled; empty when there is no such file.
std::string huge_page_mode(const std::filesystem::path& root);
Finding judge_huge_pages(const std::string& mode);

Finding judge_open_files(std::uint64_t soft, std::uint64_t hard);
Finding judge_locked_memory(std::uint64_t soft);  // bytes; RLIM_INFINITY: unlimited

// `source` of /sys/devices/system/clocksource; `cost` of one reading of the steady clock.
Finding judge_clock(const std::string& source, std::chrono::nanoseconds cost,
                    std::chrono::system_clock::time_point now);

std::string human_bytes(std::uint64_t bytes);  // "1.5 GiB"

// All of the above for this process on this machine.
std::vector<Finding> examine_machine();

}  // namespace dtrain::doctor
