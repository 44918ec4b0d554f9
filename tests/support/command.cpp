// SPDX-License-Identifier: Apache-2.0
#include "tests/support/command.h"

#include <atomic>
#include <cerrno>
#include <chrono>
#include <fcntl.h>
#include <fstream>
#include <iterator>
#include <poll.h>
#include <stdexcept>
#include <sys/inotify.h>
#include <sys/wait.h>
#include <unistd.h>

namespace dtrain::testing_support {
namespace {

int exit_code_of(int status) { return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status); }

void redirect(const std::filesystem::path& file, int descriptor) {
  const int fd = ::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  ::dup2(fd, descriptor);
  ::close(fd);
}

}  // namespace

Command::Command(const std::filesystem::path& folder, std::vector<std::string> arguments,
                 const std::map<std::string, std::string>& environment) {
  static std::atomic<int> count{0};
  const auto name = "command-" + std::to_string(count++);
  out_ = folder / (name + ".out");
  err_ = folder / (name + ".err");
  pid_ = ::fork();
  if (pid_ < 0) throw std::runtime_error("fork");
  if (pid_ > 0) return;
  ::setpgid(0, 0);
  redirect(out_, STDOUT_FILENO);
  redirect(err_, STDERR_FILENO);
  for (const auto& [key, value] : environment) ::setenv(key.c_str(), value.c_str(), 1);
  std::vector<char*> argv{const_cast<char*>(DTRAIN_BINARY)};
  for (auto& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  ::execv(DTRAIN_BINARY, argv.data());
  ::_exit(127);
}

Command::~Command() {
  if (pid_ <= 0) return;
  ::kill(-pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

CommandResult Command::wait() {
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  return {exit_code_of(status), read_file(out_), read_file(err_)};
}

bool Command::wait_for_error(const std::string& text) {
  const int watch = ::inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
  // The file may not exist yet: its folder does.
  ::inotify_add_watch(watch, err_.parent_path().c_str(), IN_MODIFY | IN_CREATE);
  bool found = false;
  for (;;) {
    if ((found = read_file(err_).find(text) != std::string::npos)) break;
    siginfo_t info{};
    ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT);
    if (info.si_pid == pid_) {
      found = read_file(err_).find(text) != std::string::npos;
      break;
    }
    pollfd event{watch, POLLIN, 0};
    ::poll(&event, 1, 200);  // the command's end is not an event of the folder
    char buffer[4096];
    while (::read(watch, buffer, sizeof(buffer)) > 0) {
    }
  }
  ::close(watch);
  return found;
}

CommandResult run_dtrain(const std::filesystem::path& folder, std::vector<std::string> arguments,
                         const std::map<std::string, std::string>& environment) {
  return Command(folder, std::move(arguments), environment).wait();
}

std::string read_file(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace dtrain::testing_support
