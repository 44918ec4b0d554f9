// SPDX-License-Identifier: Apache-2.0
#include "core/launch/client.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <optional>
#include <set>
#include <thread>

#include "core/base/frames.h"
#include "core/base/process.h"
#include "core/base/subprocess.h"
#include "core/launch/processes.h"
#include "core/launch/stop_signals.h"

namespace dtrain {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr auto kAgentPatience = 1500ms;  // from a second SIGINT until an agent that does not answer is killed

class Client {
 public:
  Client(const RunRequest& request, RunView& view) : request_(request), view_(view) {
    block_stop_signals();
    signals_ = stop_signal_fd();
    // A shell that has exec'd this command may have left children of its own.
    for (const pid_t pid : children_of(::getpid())) foreign_.insert(pid);
    if (!request.detach) ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    start_agent();
  }

  Outcome run() {
    while (!outcome_) step();
    while (view_.blocked_output() >= 0 && signal_ == 0) wait_for_output();
    auto out = std::move(*outcome_);
    // An interrupt that came too late to stop anything must still keep `dtrain run && next` from going on.
    if (signal_ != 0 && out.exit_code == 0) {
      out.exit_code = 128 + signal_;
      out.signal = signal_;
      out.message =
          "the run was complete when signal " + std::to_string(signal_) + " (" + signal_name(signal_) + ") arrived";
    }
    return out;
  }

 private:
  void start_agent() {
    auto [ours, theirs] = socket_pair();
    const UniqueFd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
    Command command;
    command.file = "/proc/self/exe";
    command.arguments = {kAgentVerb};
    command.descriptors = {null.get(), null.get(), request_.detach ? null.get() : STDERR_FILENO, theirs.get()};
    command.new_session = true;
    agent_pid_ = start(command);
    agent_ = FrameSocket(std::move(ours));
    agent_.send(static_cast<std::uint8_t>(Message::run), encode(request_));
  }

  void step() {
    const int output = view_.blocked_output();
    const short agent_events = static_cast<short>((output < 0 ? POLLIN : 0) | (agent_.backlog() > 0 ? POLLOUT : 0));
    // A muted socket is left out: its hang-up would keep this loop busy.
    std::array<pollfd, 3> fds{
        {{signals_.get(), POLLIN, 0}, {agent_events != 0 ? agent_.fd() : -1, agent_events, 0}, {output, POLLOUT, 0}}};
    if (::poll(fds.data(), fds.size(), kill_agent_at_ ? 100 : -1) < 0 && errno != EINTR) return;
    if (output >= 0 && fds[2].revents != 0) view_.continue_output();
    while (const int signal = read_signal(signals_.get())) on_signal(signal);
    if (kill_agent_at_ && Clock::now() > *kill_agent_at_) ::kill(agent_pid_, SIGKILL);
    if ((fds[1].revents & POLLOUT) != 0) agent_.flush();
    if ((fds[1].revents & ~POLLOUT) != 0 || kill_agent_at_) {
      if (!agent_.receive([this](Frame&& frame) { on_frame(frame); }) && !outcome_) agent_lost();
    }
  }

  void wait_for_output() {
    std::array<pollfd, 2> fds{{{signals_.get(), POLLIN, 0}, {view_.blocked_output(), POLLOUT, 0}}};
    if (::poll(fds.data(), fds.size(), -1) < 0 && errno != EINTR) return;
    while (const int signal = read_signal(signals_.get())) signal_ = signal;
    view_.continue_output();
  }

  void on_signal(int signal) {
    if (signal == SIGINT && signal_ == SIGINT && !kill_agent_at_) kill_agent_at_ = Clock::now() + kAgentPatience;
    if (signal_ == 0 || signal == SIGINT) signal_ = signal;
    agent_.send(static_cast<std::uint8_t>(Message::stop), std::to_string(signal));
  }

  void on_frame(const Frame& frame) {
    switch (static_cast<Message>(frame.type)) {
      case Message::note:
        return view_.note(frame.payload);
      case Message::log:
        return view_.log(frame.payload);
      case Message::ready:
        return view_.ready(frame.payload);
      case Message::report:
        return view_.report(frame.payload);
      case Message::started: {
        const auto started = decoded<Started>(frame.payload);
        run_dir_ = started.run_dir;
        view_.started(started);
        if (request_.detach) {
          outcome_.emplace();
          outcome_->run_dir = run_dir_;
        }
        return;
      }
      case Message::end:
        outcome_ = decoded<Outcome>(frame.payload);
        ::waitpid(agent_pid_, nullptr, 0);
        return;
      default:
        return;
    }
  }

  void agent_lost() {
    int status = 0;
    ::waitpid(agent_pid_, &status, 0);
    end_orphans();
    outcome_.emplace();
    outcome_->exit_code = 1;
    outcome_->message = "the agent process on " + host_name() + " " + describe_status(status) + "; the run was ended";
    outcome_->run_dir = run_dir_;
    if (kill_agent_at_) {
      outcome_->exit_code = 128 + SIGINT;
      outcome_->signal = SIGINT;
      outcome_->message = "ended by a second SIGINT; the agent did not answer and was killed";
    }
  }

  // The host and the workers die with the agent; what they had started is a child of this process now.
  void end_orphans() {
    for (const auto deadline = Clock::now() + 5s; Clock::now() < deadline;) {
      bool left = false;
      for (const pid_t pid : children_of(::getpid())) {
        if (foreign_.contains(pid)) continue;
        left = true;
        ::kill(pid, SIGKILL);
        ::waitpid(pid, nullptr, WNOHANG);
      }
      if (!left) return;
      std::this_thread::sleep_for(5ms);
    }
  }

  const RunRequest& request_;
  RunView& view_;
  UniqueFd signals_;
  std::set<pid_t> foreign_;
  pid_t agent_pid_ = 0;
  FrameSocket agent_;
  int signal_ = 0;  // last stop signal, SIGINT winning
  std::optional<Clock::time_point> kill_agent_at_;
  std::string run_dir_;
  std::optional<Outcome> outcome_;
};

}  // namespace

Outcome run_client(const RunRequest& request, RunView& view) {
  return Client(request, view).run();
}

}  // namespace dtrain
