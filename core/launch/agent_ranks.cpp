// SPDX-License-Identifier: Apache-2.0
// Agent: the workers.
#include <dtrain/error.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <nlohmann/json.hpp>
#include <system_error>

#include "core/base/process.h"
#include "core/launch/agent.h"

namespace dtrain {
namespace {

using nlohmann::json;

constexpr int kPipeBytes = 256 << 10;
constexpr std::size_t kMaxKeptReports = std::size_t{16} << 20;  // bytes queued for a client that does not read

}  // namespace

void Agent::spawn_rank(int number) {
  auto rank = std::make_unique<Rank>();
  rank->number = number;
  auto [ours, theirs] = socket_pair();
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw std::system_error(errno, std::generic_category(), "pipe2");
  UniqueFd log_read(ends[0]);
  UniqueFd log_write(ends[1]);
  ::fcntl(log_read.get(), F_SETPIPE_SZ, kPipeBytes);  // a smaller pipe works too
  rank->log = std::make_unique<LogRelay>("rank " + std::to_string(number), std::move(log_read),
                                         [this](std::string_view line) { client_.offer(Message::log, line); });
  rank->log->attach(LineFile(std::filesystem::path(run_dir_) / "logs" / ("rank-" + std::to_string(number) + ".log")));
  rank->page = std::make_unique<PhasePage>(PhasePage::create());

  std::vector<UniqueFd> fds;
  fds.push_back(std::move(theirs));
  fds.push_back(std::move(log_write));
  fds.emplace_back(::fcntl(rank->page->fd(), F_DUPFD_CLOEXEC, 0));
  const WorkerSeat seat{number, request_.ranks, 1, run_dir_};
  Rank& added = *ranks_.emplace_back(std::move(rank));
  added.channel = std::make_unique<Channel>(
      loop_, std::move(ours),
      Channel::Handlers{[this, &added](Frame&& frame) { on_rank_frame(added, std::move(frame)); },
                        [] { /* its status tells the rest */ },
                        {}});
  loop_.watch(added.log->fd(), EPOLLIN, [this, &added](std::uint32_t) { on_log(*added.log); });
  host_.channel->send(static_cast<std::uint8_t>(Message::spawn), encode(seat), std::move(fds));
}

void Agent::on_spawned(const Spawned& spawned) {
  Rank& rank = *ranks_.at(static_cast<std::size_t>(spawned.rank));
  rank.pid = spawned.pid;
  if (spawned.error != 0) {
    rank.ended = true;
    rank.channel->close();
    close_log(*rank.log);
    outcome_ = Outcome{1,
                       "cannot start the worker of rank " + std::to_string(rank.number) + " on " + host_name() + ": " +
                           std::strerror(spawned.error),
                       "check the limits on processes and memory (ulimit -a, cgroup)",
                       "",
                       run_dir_,
                       0,
                       {}};
    begin_abort();
    return check_all_ended();
  }
  const auto early = early_.extract(rank.pid);
  if (state_ == State::killing && early.empty()) ::kill(rank.pid, SIGKILL);
  const bool all = std::all_of(ranks_.begin(), ranks_.end(), [](const auto& r) { return r->pid != 0 || r->ended; });
  if (all && !started_) started();
  if (!early.empty()) rank_ended(rank, early.mapped());
}

void Agent::started() {
  started_ = true;
  if (state_ == State::starting) state_ = State::running;
  json members = json::array();
  for (const auto& rank : ranks_)
    members.push_back({{"rank", rank->number}, {"host", host_name()}, {"pid", rank->pid}});
  event(json{{"event", "membership"}, {"generation", 1}, {"world", request_.ranks}, {"members", members}}.dump());
  try {
    const auto self = process_id(::getpid());
    registration_ = std::make_unique<Registration>(
        RegisteredRun{self.value_or(ProcessId{}), request_.name, run_dir_, request_.ranks, utc_now(), {}});
    control_ =
        std::make_unique<ControlPort>(loop_, registration_->socket(),
                                      ControlPort::Handlers{[this] { return encode(status()); },
                                                            [this](int signal) { on_signal(signal, Asker::rank); }});
  } catch (const std::exception& e) {
    registration_.reset();
    note(std::string("dtrain ps, status and stop will not find this run: ") + e.what());
  }
  client_.send(Message::started, encode(Started{run_dir_, ::getpid()}));
}

void Agent::on_rank_frame(Rank& rank, Frame&& frame) {
  switch (static_cast<Message>(frame.type)) {
    case Message::set: {
      auto [key, value] = decode_set(frame.payload);
      return store_.set(std::move(key), std::move(value));
    }
    case Message::get: {
      const auto [id, key] = decode_tagged(frame.payload);
      return store_.get(key, [this, &rank, id = id](const std::string& value) {
        tell(rank, Message::value, encode_tagged(id, value));
      });
    }
    case Message::report:
      return on_report(rank, frame.payload, false);
    case Message::event:
      return on_report(rank, frame.payload, true);
    case Message::last_words:
      rank.words = decoded<LastWords>(frame.payload);
      return;
    case Message::signal_seen:
      return on_signal(std::stoi(frame.payload), Asker::rank);
    default:
      DTRAIN_CHECK(false, "rank " + std::to_string(rank.number) + " sent message " + std::to_string(frame.type));
  }
}

void Agent::on_report(Rank& rank, const std::string& text, bool is_event) {
  const auto fields = json::parse(text, nullptr, false);
  if (!fields.is_object()) {
    log_.warning("unreadable-report", {{"rank", rank.number}, {"text", text}});
    return;
  }
  const auto kind = fields.find("event");
  const bool step = kind != fields.end() && *kind == "step";
  if (step) last_step_ = text;
  if (is_event) event(text);
  if (step || client_.backlog() > kMaxKeptReports) {
    client_.offer(Message::report, text);
  } else {
    client_.send(Message::report, text);
  }
}

void Agent::tell(Rank& rank, Message type, std::string_view payload) {
  rank.channel->send(static_cast<std::uint8_t>(type), payload);  // dropped when the rank has gone
}

void Agent::on_log(LogRelay& log) {
  if (!log.read()) return close_log(log);
  if (client_.congested()) pause_logs();
}

void Agent::close_log(LogRelay& log) {
  if (!log.open()) return;
  paused_logs_.erase(log.fd());
  loop_.forget(log.fd());
  log.finish();
}

// While the client is behind, what the ranks print stays in their pipes. A hung-up pipe would keep the loop busy, so
// the descriptors are forgotten, not muted.
void Agent::pause_logs() {
  for (auto& rank : ranks_) {
    if (rank->log->open() && paused_logs_.insert(rank->log->fd()).second) loop_.forget(rank->log->fd());
  }
  loop_.after(std::chrono::seconds(1), [this] {
    if (!client_.congested()) return resume_logs();
    if (!paused_logs_.empty()) pause_logs();
  });
}

void Agent::resume_logs() {
  for (auto& rank : ranks_) {
    if (paused_logs_.erase(rank->log->fd()) == 0) continue;
    loop_.watch(rank->log->fd(), EPOLLIN, [this, log = rank->log.get()](std::uint32_t) { on_log(*log); });
  }
}

void Agent::reap() {
  int status = 0;
  while (const pid_t pid = ::waitpid(-1, &status, WNOHANG)) {
    if (pid < 0) break;
    if (pid == host_.pid) {
      host_ended(status);
      continue;
    }
    const auto it = std::find_if(ranks_.begin(), ranks_.end(), [pid](const auto& rank) { return rank->pid == pid; });
    if (it != ranks_.end()) {
      rank_ended(**it, status);
    } else if (!started_) {
      early_.emplace(pid, status);  // a worker that the host has not named yet, or somebody's helper
    }
  }
  continue_closing();
}

bool Agent::own_doing(int status) const {
  return state_ == State::killing && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
}

void Agent::rank_ended(Rank& rank, int status) {
  if (rank.ended) return;
  rank.channel->receive_now();
  rank.channel->close();
  close_log(*rank.log);
  rank.ended = true;
  log_.info("rank-ended", {{"rank", rank.number}, {"status", describe_status(status)}});
  const bool stopped = stop_signal_ != 0 && WIFSIGNALED(status) && WTERMSIG(status) == stop_signal_;
  const bool done = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  if (!done && !stopped && !own_doing(status)) note_failure(rank, status);
  check_all_ended();
}

void Agent::note_failure(Rank& rank, int status) {
  const auto snapshot = rank.page->read();
  const RankFailure failure{rank.number, host_name(),          status, snapshot.phase, snapshot.step,
                            rank.words,  rank.log->last_line()};
  failures_.push_back(failure);
  log_.error("rank-failed", {{"rank", rank.number}, {"text", failure.text()}});
  event(json{{"event", "fault"},
             {"rank", failure.rank},
             {"host", failure.host},
             {"status", describe_status(status)},
             {"phase", failure.phase},
             {"step", failure.step},
             {"last_words", failure.words ? failure.words->message : failure.last_line}}
            .dump(-1, ' ', false, json::error_handler_t::replace));
  // All ranks agree on divergence: the others come to the same end by themselves, and may be saving.
  if (WIFEXITED(status) && WEXITSTATUS(status) == 4) {
    loop_.after(grace_or(request_.grace_s), [this] { begin_abort(); });
  } else {
    begin_abort();
  }
}

const RankFailure* Agent::named_failure() const {
  const auto own = std::find_if(failures_.begin(), failures_.end(), [](const RankFailure& failure) {
    return !failure.words || failure.words->kind != LastWords::Kind::recoverable;
  });
  if (own != failures_.end()) return &*own;
  return failures_.empty() ? nullptr : &failures_.front();
}

void Agent::check_all_ended() {
  if (state_ == State::closing || state_ == State::ended) return;
  if (std::all_of(ranks_.begin(), ranks_.end(), [](const auto& rank) { return rank->ended; })) begin_closing();
}

}  // namespace dtrain
