// SPDX-License-Identifier: Apache-2.0
#include "cli/doctor/machine.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

#include "core/base/unique_fd.h"

namespace dtrain::doctor {
namespace {

namespace fs = std::filesystem;

std::string first_line(const fs::path& file) {
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  return line;
}

// "MemTotal:  24576 kB" -> bytes.
std::uint64_t meminfo(const fs::path& root, const std::string& key) {
  std::ifstream in(root / "proc/meminfo");
  std::string name;
  std::uint64_t kib = 0;
  for (std::string line; std::getline(in, line);) {
    std::istringstream fields(line);
    if (fields >> name >> kib && name == key + ":") return kib * 1024;
  }
  return 0;
}

// The tightest limit of the process's group and those above it (cgroup v2), or of its own group (v1).
std::optional<std::uint64_t> memory_limit(const fs::path& root) {
  std::optional<std::uint64_t> limit;
  const auto consider = [&limit](const fs::path& file) {
    std::ifstream in(file);
    std::uint64_t bytes = 0;
    if (in >> bytes && bytes < (1ULL << 60) && (!limit || bytes < *limit))
      limit = bytes;  // v1 writes "no limit" as 2^63
  };
  std::ifstream in(root / "proc/self/cgroup");
  for (std::string line; std::getline(in, line);) {
    const auto group = fs::path(line.substr(line.rfind(':') + 1)).relative_path();
    if (line.starts_with("0::")) {
      for (auto at = group;; at = at.parent_path()) {
        consider(root / "sys/fs/cgroup" / at / "memory.max");
        if (at.empty()) break;
      }
    } else if (line.find(":memory:") != std::string::npos) {
      consider(root / "sys/fs/cgroup/memory" / group / "memory.limit_in_bytes");
    }
  }
  return limit;
}

std::chrono::nanoseconds cost_of_clock() {
  using Clock = std::chrono::steady_clock;
  constexpr int kReadings = 1000;
  const auto begin = Clock::now();
  auto last = begin;
  for (int i = 0; i < kReadings; ++i) last = Clock::now();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(last - begin) / kReadings;
}

std::vector<std::pair<std::string, std::string>> thread_variables() {
  std::vector<std::pair<std::string, std::string>> found;
  for (const char* name : {"OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"}) {
    if (const char* value = ::getenv(name)) found.emplace_back(name, value);
  }
  return found;
}

}  // namespace

std::vector<std::string> cpu_features(const fs::path& root) {
  std::ifstream in(root / "proc/cpuinfo");
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with("flags") && !line.starts_with("Features")) continue;
    std::istringstream words(line.substr(line.find(':') + 1));
    std::vector<std::string> found;
    for (std::string word; words >> word;) {
      for (auto name :
           {"avx2", "fma", "avx512f", "avx512_bf16", "avx512_vnni", "amx_tile", "amx_bf16", "asimd", "sve"}) {
        if (word == name) found.push_back(word);
      }
    }
    std::sort(found.begin(), found.end());
    return found;
  }
  return {};
}

MemoryFacts memory_facts(const fs::path& root) {
  return {.total = meminfo(root, "MemTotal"), .available = meminfo(root, "MemAvailable"), .limit = memory_limit(root)};
}

SpaceFacts space_facts(const fs::path& folder) {
  struct statfs info {};
  if (::statfs(folder.c_str(), &info) != 0)
    return {.total = 0, .free = 0, .network = false, .error = std::strerror(errno)};
  constexpr long kNfs = 0x6969, kSmb2 = 0xFE534D42, kCifs = 0xFF534D42, kLustre = 0x0BD00BD0, kCeph = 0x00C36400;
  const auto unit = static_cast<std::uint64_t>(info.f_bsize);
  return {.total = info.f_blocks * unit,
          .free = info.f_bavail * unit,
          .network = info.f_type == kNfs || info.f_type == kSmb2 || info.f_type == kCifs || info.f_type == kLustre ||
                     info.f_type == kCeph,
          .error = {}};
}

std::string try_memfd() {
  const auto size = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const UniqueFd fd(::memfd_create("dtrain-doctor", MFD_CLOEXEC));
  if (fd.get() < 0) return std::strerror(errno);
  if (::ftruncate(fd.get(), static_cast<off_t>(size)) != 0) return std::strerror(errno);
  void* memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd.get(), 0);
  if (memory == MAP_FAILED) return std::strerror(errno);
  ::munmap(memory, size);
  return {};
}

std::string huge_page_mode(const fs::path& root) {
  const auto line = first_line(root / "sys/kernel/mm/transparent_hugepage/enabled");
  const auto begin = line.find('[');
  const auto end = line.find(']');
  return begin == std::string::npos || end == std::string::npos ? "" : line.substr(begin + 1, end - begin - 1);
}

std::vector<Finding> examine_machine() {
  const fs::path root = "/";
  const auto budget = cpu_budget(root);
  rlimit files{}, locked{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  ::getrlimit(RLIMIT_MEMLOCK, &locked);
  std::error_code error;
  const auto folder = fs::current_path(error);
  return {judge_instruction_set(cpu_features(root)),
          judge_cpus(budget),
          judge_threads(thread_variables(), budget),
          judge_memory(memory_facts(root)),
          judge_shared_memory(space_facts("/dev/shm")),
          judge_memfd(try_memfd()),
          judge_huge_pages(huge_page_mode(root)),
          judge_open_files(files.rlim_cur, files.rlim_max),
          judge_locked_memory(locked.rlim_cur),
          judge_disk(folder.string(), space_facts(folder), ::access(folder.c_str(), W_OK) == 0),
          judge_clock(first_line("/sys/devices/system/clocksource/clocksource0/current_clocksource"), cost_of_clock(),
                      std::chrono::system_clock::now())};
}

}  // namespace dtrain::doctor
