// SPDX-License-Identifier: Apache-2.0
#include "core/launch/stop_signals.h"

#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <system_error>

namespace dtrain {
namespace {

sigset_t stop_set(std::initializer_list<int> more) {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&set, signal);
  for (const int signal : more) sigaddset(&set, signal);
  return set;
}

}  // namespace

void block_stop_signals(std::initializer_list<int> more) {
  const auto set = stop_set(more);
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
}

UniqueFd stop_signal_fd(std::initializer_list<int> more) {
  const auto set = stop_set(more);
  UniqueFd fd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd.valid()) throw std::system_error(errno, std::generic_category(), "signalfd");
  return fd;
}

int read_signal(int fd) {
  signalfd_siginfo info;
  return ::read(fd, &info, sizeof info) == sizeof info ? static_cast<int>(info.ssi_signo) : 0;
}

}  // namespace dtrain
