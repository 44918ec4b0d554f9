// SPDX-License-Identifier: Apache-2.0
#include "core/base/process.h"

#include <dirent.h>
#include <linux/close_range.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <csignal>
#include <cstring>
#include <fstream>
#include <memory>
#include <sstream>

namespace dtrain {
namespace {

// The fields of /proc/PID/stat from the third on; the second may contain blanks and parentheses.
std::vector<std::string> stat_fields(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  std::getline(file, text);
  std::vector<std::string> fields;
  const auto end = text.rfind(')');
  if (end == std::string::npos) return fields;
  std::istringstream rest(text.substr(end + 1));
  for (std::string field; rest >> field;) fields.push_back(field);
  return fields;
}

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  const std::unique_ptr<DIR, int (*)(DIR*)> dir(::opendir(folder.c_str()), ::closedir);
  if (!dir) return names;
  while (const dirent* entry = ::readdir(dir.get())) names.emplace_back(entry->d_name);
  return names;
}

std::optional<int> number(const std::string& text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

std::optional<ProcessId> process_id(pid_t pid) {
  constexpr std::size_t kState = 0, kStartTime = 19;  // fields 3 and 22 of proc(5)
  const auto fields = stat_fields(pid);
  if (fields.size() <= kStartTime || fields[kState] == "Z" || fields[kState] == "X") return std::nullopt;
  return ProcessId{pid, std::stoull(fields[kStartTime])};
}

UniqueFd pidfd_open(pid_t pid) {
  return UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
}

bool signal_process(const ProcessId& process, int signal) {
  const UniqueFd fd = pidfd_open(process.pid);
  if (!fd.valid() || !alive(process)) return false;  // in this order: the descriptor pins the process that is checked
  return ::syscall(SYS_pidfd_send_signal, fd.get(), signal, nullptr, 0) == 0;
}

std::vector<pid_t> children_of(pid_t pid) {
  constexpr std::size_t kParent = 1;  // field 4 of proc(5)
  std::vector<pid_t> children;
  for (const auto& name : names_in("/proc")) {
    const auto child = number(name);
    if (!child) continue;
    const auto fields = stat_fields(*child);
    if (fields.size() > kParent && fields[kParent] == std::to_string(pid)) children.push_back(*child);
  }
  return children;
}

std::vector<std::string> thread_names() {
  std::vector<std::string> names;
  for (const auto& task : names_in("/proc/self/task")) {
    if (!number(task)) continue;
    std::ifstream file("/proc/self/task/" + task + "/comm");
    std::string name;
    std::getline(file, name);
    names.push_back(name);
  }
  return names;
}

int thread_count() {
  return static_cast<int>(thread_names().size());
}

std::vector<int> open_descriptors() {
  std::vector<int> open;
  for (const auto& name : names_in("/proc/self/fd")) {
    const auto fd = number(name);
    if (fd) open.push_back(*fd);
  }
  std::sort(open.begin(), open.end());
  // The descriptor with which the folder was read is in the list and closed again.
  std::erase_if(open, [](int fd) { return ::syscall(SYS_fcntl, fd, 1 /* F_GETFD */) < 0; });
  return open;
}

void close_descriptors_except(std::vector<int> keep) {
  std::sort(keep.begin(), keep.end());
  unsigned first = 0;
  for (const int fd : keep) {
    const auto kept = static_cast<unsigned>(fd);
    if (kept > first) ::syscall(SYS_close_range, first, kept - 1, 0);
    first = std::max(first, kept + 1);
  }
  ::syscall(SYS_close_range, first, ~0u, 0);
}

std::string signal_name(int signal) {
  const char* name = ::sigabbrev_np(signal);
  return name != nullptr ? std::string("SIG") + name : "signal " + std::to_string(signal);
}

std::string describe_status(int wait_status) {
  if (WIFSIGNALED(wait_status)) {
    const int signal = WTERMSIG(wait_status);
    return "was killed by signal " + std::to_string(signal) + " (" + signal_name(signal) + ")";
  }
  return "ended with exit code " + std::to_string(WEXITSTATUS(wait_status));
}

std::string host_name() {
  char name[256] = {};
  return ::gethostname(name, sizeof name - 1) == 0 ? name : "localhost";
}

}  // namespace dtrain
