// SPDX-License-Identifier: Apache-2.0
#include "core/launch/agent.h"

#include <dtrain/error.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <nlohmann/json.hpp>

#include "core/base/process.h"
#include "core/launch/stop_signals.h"

namespace dtrain {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;

constexpr auto kDebounce = 100ms;       // one key press may arrive twice (timeout(1) signals the process and its group)
constexpr auto kAbortTime = 2s;         // from the abort of the others to their end
constexpr auto kHostTime = 1s;          // for the host to end by itself
constexpr double kLostClientGrace = 3;  // seconds

std::string signal_text(int signal) {
  return std::to_string(signal) + " (" + signal_name(signal) + ")";
}

std::string plural(const std::vector<int>& ranks) {
  std::string list;
  for (const int rank : ranks) list += (list.empty() ? "" : ", ") + std::to_string(rank);
  return (ranks.size() == 1 ? "rank " : "ranks ") + list;
}

}  // namespace

Agent::Agent(UniqueFd client)
    : signals_(stop_signal_fd({SIGCHLD})),
      client_(
          loop_, std::move(client), [this](Frame&& frame) { on_client_frame(std::move(frame)); },
          [this] { resume_logs(); }, [this] { on_client_lost(); }) {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  ::prctl(PR_SET_NAME, "dtrain-agent");
  loop_.watch(signals_.get(), EPOLLIN, [this](std::uint32_t) { on_process_signal(); });
}

int Agent::run() {
  while (state_ != State::ended || (client_.attached() && client_.backlog() > 0)) loop_.run_once();
  return outcome_ ? outcome_->exit_code : 1;
}

void Agent::on_client_frame(Frame&& frame) {
  switch (static_cast<Message>(frame.type)) {
    case Message::run:
      DTRAIN_CHECK(state_ == State::waiting);
      return start(decoded<RunRequest>(frame.payload));
    case Message::stop:
      return on_signal(std::stoi(frame.payload), Asker::user);
    default:
      DTRAIN_CHECK(false, "the client sent message " + std::to_string(frame.type));
  }
}

void Agent::on_client_lost() {
  if (request_.detach && started_) return;
  log_.warning("client-lost");
  if (state_ == State::waiting) {
    state_ = State::ended;
  } else if (state_ == State::preparing) {
    on_signal(SIGHUP, Asker::rank);
  } else if (state_ == State::starting || state_ == State::running || state_ == State::stopping) {
    begin_stop(stop_signal_ != 0 ? stop_signal_ : SIGHUP, grace_or(kLostClientGrace));
  }
}

Agent::Clock::duration Agent::grace_or(double limit_s) const {
  const std::chrono::duration<double> grace(std::min(request_.grace_s, limit_s));
  return std::chrono::duration_cast<Clock::duration>(grace);
}

void Agent::on_process_signal() {
  while (const int signal = read_signal(signals_.get())) {
    if (signal == SIGCHLD) {
      reap();
    } else {
      on_signal(signal, Asker::user);
    }
  }
}

void Agent::on_signal(int signal, Asker asker) {
  const bool again = asker == Asker::user && signal == SIGINT &&
                     (state_ == State::failing || (stop_signal_ != 0 && Clock::now() - stop_time_ > kDebounce));
  switch (state_) {
    case State::waiting:
      state_ = State::ended;
      return;
    case State::preparing:
      stop_signal_ = signal;
      stop_time_ = Clock::now();
      return begin_closing();
    case State::starting:
    case State::running:
      note("signal " + signal_text(signal) + ": stopping after this step with a checkpoint" +
           (signal == SIGINT ? "; SIGINT again ends the run at once" : ""));
      return begin_stop(signal, grace_or(request_.grace_s));
    case State::stopping:
    case State::failing:
      if (!again) return;
      ended_by_user_ = true;
      note("SIGINT again: ending the run now");
      return kill_all();
    default:
      return;
  }
}

void Agent::begin_stop(int signal, Clock::duration grace) {
  if (state_ != State::stopping) {
    state_ = State::stopping;
    stop_signal_ = signal;
    stop_time_ = Clock::now();
    log_.info("stop", {{"signal", signal_name(signal)}});
    event(json{{"event", "stop"}, {"signal", signal}}.dump());
    for (auto& rank : ranks_) {
      tell(*rank, Message::stop, "");
    }
  }
  loop_.cancel(grace_timer_);
  grace_end_ = std::min(grace_end_, Clock::now() + grace);
  grace_timer_ = loop_.at(grace_end_, [this] {
    if (state_ != State::stopping) return;
    grace_over_ = true;
    kill_all();
  });
}

void Agent::begin_abort() {
  if (state_ != State::starting && state_ != State::running && state_ != State::stopping) return;
  state_ = State::failing;
  for (auto& rank : ranks_) {
    tell(*rank, Message::abort, "");
  }
  loop_.after(kAbortTime, [this] {
    if (state_ == State::failing) kill_all();
  });
}

void Agent::kill_all() {
  state_ = State::killing;
  bool spawning = false;
  for (auto& rank : ranks_) {
    if (rank->ended) continue;
    killed_ranks_.push_back(rank->number);
    if (rank->pid > 0) ::kill(rank->pid, SIGKILL);
    spawning |= rank->pid == 0;
  }
  // Workers whose process ids are still to come end when the host does, or are found among the agent's children.
  if (spawning && !host_.status) ::kill(host_.pid, SIGKILL);
}

void Agent::refuse(LastWords words) {
  outcome_ = Outcome{
      words.exit_code, std::move(words.message), std::move(words.hint), std::move(words.place), run_dir_, 0, {}};
  begin_closing();
}

void Agent::begin_closing() {
  if (state_ == State::closing || state_ == State::ended) return;
  const bool prepared = !ranks_.empty();
  state_ = State::closing;
  if (!outcome_) outcome_ = outcome();
  if (host_.pid != 0 && !host_.status) {
    host_.channel->close();  // a prepared host ends by itself
    if (!prepared && !host_.words) ::kill(host_.pid, SIGKILL);
    loop_.after(kHostTime, [this] {
      if (!host_.status) ::kill(host_.pid, SIGKILL);
    });
  }
  continue_closing();
}

void Agent::continue_closing() {
  if (state_ != State::closing || (host_.pid != 0 && !host_.status)) return;
  // What workers have started and left behind is a child of the agent by now.
  const auto left = children_of(::getpid());
  for (const pid_t pid : left) ::kill(pid, SIGKILL);
  if (left.empty()) end();
}

void Agent::end() {
  state_ = State::ended;
  const auto& outcome = *outcome_;
  event(json{{"event", "run_end"}, {"exit_code", outcome.exit_code}, {"message", outcome.message}}.dump());
  log_.info("end", {{"exit_code", outcome.exit_code}, {"message", outcome.message}});
  control_.reset();
  registration_.reset();
  lock_ = RunDirLock();
  client_.send(Message::end, encode(outcome));
}

Outcome Agent::outcome_of_failure(const RankFailure& failure) const {
  Outcome out;
  out.exit_code = 1;
  out.message = failure.text();
  if (failure.words) {
    out.hint = failure.words->hint;
    out.place = failure.words->place;
  }
  const bool user = failure.words && failure.words->kind == LastWords::Kind::user;
  if (user && (failure.words->exit_code == 2 || failure.words->exit_code == 4))
    out.exit_code = failure.words->exit_code;
  if (WIFEXITED(failure.wait_status) && WEXITSTATUS(failure.wait_status) == 4) out.exit_code = 4;
  out.failure = failure;
  return out;
}

Outcome Agent::outcome() const {
  Outcome out;
  if (const auto* failure = named_failure()) {
    out = outcome_of_failure(*failure);
  } else if (host_lost_) {
    out.exit_code = 1;
    out.message = "the host process on " + host_name() + " " + describe_status(host_.status.value_or(0));
    if (host_.words) out.message += "; last words: " + host_.words->message;
  } else if (stop_signal_ != 0) {
    out.exit_code = 128 + stop_signal_;
    out.message = "stopped by signal " + signal_text(stop_signal_);
  }
  if (grace_over_ && !killed_ranks_.empty()) {
    out.message += "; " + plural(killed_ranks_) + " had to be killed, the grace time was over";
    out.hint = "the last complete checkpoint stands; raise launch.grace if a step and its save take longer";
  } else if (ended_by_user_) {
    out.message += "; ended by a second SIGINT before the run had stopped by itself";
  }
  out.signal = host_lost_ ? 0 : stop_signal_;
  out.run_dir = run_dir_;
  return out;
}

void Agent::note(const std::string& text) {
  log_.info("note", {{"text", text}});
  client_.send(Message::note, text);
}

void Agent::event(const std::string& json) {
  events_.add(json);
}

std::string_view Agent::state_name() const {
  switch (state_) {
    case State::waiting:
    case State::preparing:
      return "preparing";
    case State::starting:
      return "starting";
    case State::running:
      return "running";
    case State::stopping:
      return "stopping";
    case State::failing:
      return "failing";
    case State::killing:
      return "killing";
    case State::closing:
    case State::ended:
      return "ended";
  }
  return "";
}

RunStatus Agent::status() const {
  RunStatus out{request_.name, run_dir_, std::string(state_name()), ::getpid(), 0, last_step_, {}};
  const auto settings = json::parse(settings_, nullptr, false);
  if (settings.is_object()) {
    const auto total = settings.find("total_steps");
    if (total != settings.end() && total->is_number_integer()) out.total_steps = total->get<std::int64_t>();
  }
  for (const auto& rank : ranks_) {
    const auto snapshot = rank->page->read();
    out.workers.push_back({rank->number, rank->pid, rank->ended, snapshot.phase, snapshot.step,
                           std::chrono::duration<double>(snapshot.age).count()});
  }
  return out;
}

}  // namespace dtrain
