// SPDX-License-Identifier: Apache-2.0
#include "core/launch/worker.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <string>

#include "core/base/fault.h"
#include "core/base/process.h"
#include "core/launch/stop_signals.h"
#include "core/launch/worker_link.h"

namespace dtrain {
namespace {

// A parent-death signal counts from the parent at the time of prctl, which must be the agent, not the process in
// between.
void tie_to_agent(int between, pid_t agent_pid) {
  pollfd gone{between, POLLIN, 0};
  while (::poll(&gone, 1, -1) < 0 && errno == EINTR) {
  }
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != agent_pid) ::_exit(1);
}

void take_log(UniqueFd& log) {
  ::dup2(log.get(), STDOUT_FILENO);
  ::dup2(log.get(), STDERR_FILENO);
  log.reset();
  ::setlinebuf(stdout);  // a pipe would be buffered whole, and a killed rank's last lines lost
}

int run(WorkerStart& start, HostProgram& program) {
  WorkerLink link(std::move(start.socket), PhasePage(std::move(start.phase_page)));
  int code;
  try {
    fault::arm_from_environment();
    fault::point("launch.worker", start.seat.rank);
    code = program.run_worker(start.seat, link);
  } catch (...) {
    const auto words = last_words_of_current_exception();
    link.say_last_words(words);
    code = words.exit_code;
  }
  std::fflush(nullptr);
  link.flush();
  return code;
}

[[noreturn]] void be_worker(WorkerStart& start, HostProgram& program, int between) {
  tie_to_agent(between, start.agent_pid);
  block_stop_signals();
  take_log(start.log);
  std::vector<int> keep = start.inherited;
  keep.insert(keep.end(), {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO, start.socket.get(), start.phase_page.get()});
  close_descriptors_except(std::move(keep));
  ::prctl(PR_SET_NAME, ("dtrain-" + std::to_string(start.seat.rank)).c_str());
  // Not exit(): destructors of what the host has loaded belong to the host.
  ::_exit(run(start, program));
}

}  // namespace

pid_t fork_worker(WorkerStart start, HostProgram& program) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return -errno;
  const UniqueFd read_end(ends[0]);
  UniqueFd write_end(ends[1]);
  std::fflush(nullptr);  // or the child would print what the host has buffered
  const pid_t between = ::fork();
  if (between < 0) return -errno;
  if (between == 0) {
    const UniqueFd self = pidfd_open(::getpid());
    pid_t worker = ::fork();
    if (worker == 0) be_worker(start, program, self.get());
    if (worker < 0) worker = -errno;
    ::_exit(::write(write_end.get(), &worker, sizeof worker) == sizeof worker ? 0 : 1);
  }
  write_end.reset();
  pid_t worker = -EIO;
  std::ptrdiff_t n;
  do {
    n = ::read(read_end.get(), &worker, sizeof worker);
  } while (n < 0 && errno == EINTR);
  ::waitpid(between, nullptr, 0);
  return worker;
}

}  // namespace dtrain
