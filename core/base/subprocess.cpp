// SPDX-License-Identifier: Apache-2.0
#include "core/base/subprocess.h"

#include <dtrain/error.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <system_error>

#include "core/base/process.h"
#include "core/base/unique_fd.h"

namespace dtrain {
namespace {

std::vector<std::string> environment_of(const Command& command) {
  std::vector<std::string> out;
  for (char** entry = ::environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const auto overridden = [&](const auto& pair) {
      return text.size() > pair.first.size() && text.starts_with(pair.first) && text[pair.first.size()] == '=';
    };
    if (std::none_of(command.environment.begin(), command.environment.end(), overridden)) out.emplace_back(text);
  }
  for (const auto& [name, value] : command.environment) out.push_back(name + "=" + value);
  return out;
}

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> out;
  for (auto& text : strings) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

void reset_signals() {
  for (int signal = 1; signal < NSIG; ++signal) ::signal(signal, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

// Only async-signal-safe calls from here to exec; `error_fd` tells the parent why it failed.
[[noreturn]] void run_child(const Command& command, pid_t parent, int error_fd, char* const* argv, char* const* envp) {
  const int count = static_cast<int>(command.descriptors.size());
  const int base = std::max(count, 3) + 1;
  int lifted[32];
  const auto fail = [&](int fd) {
    const int error = errno;
    if (::write(fd, &error, sizeof error) < 0) ::_exit(126);
    ::_exit(127);
  };
  reset_signals();
  if (command.new_session) ::setsid();
  if (command.die_with_parent) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(127);
  }
  // First out of the way of the numbers they will get.
  const int error_lifted = ::fcntl(error_fd, F_DUPFD_CLOEXEC, base);
  if (error_lifted < 0) fail(error_fd);
  for (int i = 0; i < count; ++i) {
    lifted[i] = ::fcntl(command.descriptors[static_cast<std::size_t>(i)], F_DUPFD_CLOEXEC, base);
    if (lifted[i] < 0) fail(error_lifted);
  }
  for (int i = 0; i < count; ++i) {
    if (::dup2(lifted[i], i) < 0) fail(error_lifted);
  }
  ::close_range(static_cast<unsigned>(count), static_cast<unsigned>(error_lifted) - 1, 0);
  ::close_range(static_cast<unsigned>(error_lifted) + 1, ~0u, 0);
  ::execve(command.file.c_str(), argv, envp);
  fail(error_lifted);
  ::_exit(127);
}

}  // namespace

pid_t start(const Command& command) {
  DTRAIN_CHECK(command.descriptors.size() <= 32);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw std::system_error(errno, std::generic_category(), "pipe2");
  const UniqueFd read_end(ends[0]);
  UniqueFd write_end(ends[1]);
  std::vector<std::string> arguments = command.arguments;
  arguments.insert(arguments.begin(), command.file);
  auto environment = environment_of(command);
  const auto argv = pointers(arguments);
  const auto envp = pointers(environment);
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) throw std::system_error(errno, std::generic_category(), "fork");
  if (child == 0) run_child(command, parent, write_end.get(), argv.data(), envp.data());
  write_end.reset();
  int error = 0;
  std::ptrdiff_t n;
  do {
    n = ::read(read_end.get(), &error, sizeof error);
  } while (n < 0 && errno == EINTR);
  if (n == 0) return child;  // closed by a successful exec
  ::waitpid(child, nullptr, 0);
  throw UserError("cannot start " + command.file + ": " + std::strerror(error), "", {}, 1);
}

}  // namespace dtrain
