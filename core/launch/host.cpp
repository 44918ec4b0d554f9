// SPDX-License-Identifier: Apache-2.0
#include "core/launch/host.h"

#include <dtrain/error.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/base/fault.h"
#include "core/base/frames.h"
#include "core/base/process.h"
#include "core/launch/messages.h"
#include "core/launch/stop_signals.h"
#include "core/launch/worker.h"

namespace dtrain {
namespace {

// Counts after the fork handlers of libraries have run: some keep idle threads and end them before each fork.
void check_one_thread() {
  const pid_t probe = ::fork();
  if (probe == 0) ::_exit(0);
  if (probe > 0) ::waitpid(probe, nullptr, 0);
  const auto names = thread_names();
  if (names.size() == 1) return;
  std::string list;
  for (const auto& name : names) list += (list.empty() ? "" : ", ") + name;
  throw UserError("the host process has " + std::to_string(names.size()) + " threads after preparing (" + list +
                      "); workers cannot be forked from it",
                  "a plugin may start threads in a worker only, not when it is loaded or prepared");
}

class Host final : public PrepareWatch {
 public:
  Host(int agent_socket, HostProgram& program)
      : agent_(UniqueFd(agent_socket)), agent_pid_(::getppid()), program_(program) {}

  int serve() {
    ::prctl(PR_SET_NAME, "dtrain-host");
    for (const int fd : open_descriptors()) own_.insert(fd);
    const auto request = agent_.next();
    if (!request) return 1;
    try {
      DTRAIN_CHECK(request->type == static_cast<std::uint8_t>(Message::prepare));
      fault::arm_from_environment();
      fault::point("launch.prepare");
      prepare(decoded<RunRequest>(request->payload));
      serve_spawns();
      return 0;
    } catch (...) {
      say(Message::failed, encode(last_words_of_current_exception()));
      return 1;
    }
  }

  void loading(std::string_view plugin_file) override { say(Message::loading, plugin_file); }

 private:
  void say(Message type, std::string_view payload) {
    agent_.send(static_cast<std::uint8_t>(type), payload);
    agent_.drain();
  }

  void prepare(const RunRequest& request) {
    const auto result = program_.prepare(request.plan_json, request.run_dir, *this);
    loading("");
    block_stop_signals();
    check_one_thread();
    for (const int fd : open_descriptors()) {
      if (!own_.contains(fd)) inherited_.push_back(fd);
    }
    say(Message::prepared, result);
  }

  void serve_spawns() {
    const UniqueFd signals = stop_signal_fd();
    std::array<pollfd, 2> fds{{{agent_.fd(), POLLIN, 0}, {signals.get(), POLLIN, 0}}};
    while (true) {
      if (::poll(fds.data(), fds.size(), -1) < 0 && errno != EINTR) return;
      if (const int signal = read_signal(signals.get()); signal != 0) say(Message::signal_seen, std::to_string(signal));
      std::vector<Frame> requests;
      const bool open = agent_.receive([&](Frame&& frame) { requests.push_back(std::move(frame)); });
      for (auto& frame : requests) {
        DTRAIN_CHECK(frame.type == static_cast<std::uint8_t>(Message::spawn) && frame.fds.size() == 3);
        spawn(std::move(frame));
      }
      if (!open) return;
    }
  }

  void spawn(Frame&& frame) {
    const auto seat = decoded<WorkerSeat>(frame.payload);
    WorkerStart start{seat,      std::move(frame.fds[0]), std::move(frame.fds[1]), std::move(frame.fds[2]), inherited_,
                      agent_pid_};
    const int pid = fork_worker(std::move(start), program_);
    say(Message::spawned, encode(Spawned{seat.rank, pid > 0 ? pid : 0, pid > 0 ? 0 : -pid}));
  }

  FrameSocket agent_;
  int agent_pid_;
  HostProgram& program_;
  std::set<int> own_;           // descriptors of the launcher
  std::vector<int> inherited_;  // those that prepare left open
};

}  // namespace

int serve_host(int agent_socket, HostProgram& program) {
  return Host(agent_socket, program).serve();
}

}  // namespace dtrain
