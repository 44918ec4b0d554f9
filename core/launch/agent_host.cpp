// SPDX-License-Identifier: Apache-2.0
// Agent: the host process and the preparation of a run.
#include <dtrain/error.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>

#include "core/base/process.h"
#include "core/base/subprocess.h"
#include "core/launch/agent.h"
#include "core/launch/processes.h"
#include "core/launch/thread_variables.h"

namespace dtrain {

void Agent::start(RunRequest request) {
  request_ = std::move(request);
  state_ = State::preparing;
  try {
    if (!request_.new_run_dir) lock_ = RunDirLock::before_prepare(request_.run_dir);
    for (const auto& line : ignored_thread_variables(request_.threads)) note(line);
    start_host();
  } catch (...) {
    refuse(last_words_of_current_exception());
  }
}

void Agent::start_host() {
  auto [ours, theirs] = socket_pair();
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw std::system_error(errno, std::generic_category(), "pipe2");
  UniqueFd log_read(ends[0]);
  const UniqueFd log_write(ends[1]);
  const UniqueFd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  Command command;
  command.file = "/proc/self/exe";
  command.arguments = {kHostVerb};
  for (const char* name : kThreadVariables) command.environment.emplace_back(name, std::to_string(request_.threads));
  command.descriptors = {null.get(), log_write.get(), log_write.get(), theirs.get()};
  command.die_with_parent = true;
  host_.pid = dtrain::start(command);
  host_.log = std::make_unique<LogRelay>("host", std::move(log_read),
                                         [this](std::string_view line) { client_.offer(Message::log, line); });
  host_.channel = std::make_unique<Channel>(
      loop_, std::move(ours),
      Channel::Handlers{
          [this](Frame&& frame) { on_host_frame(std::move(frame)); }, [] { /* its status tells the rest */ }, {}});
  loop_.watch(host_.log->fd(), EPOLLIN, [this](std::uint32_t) { on_log(*host_.log); });
  host_.channel->send(static_cast<std::uint8_t>(Message::prepare), encode(request_));
}

void Agent::on_host_frame(Frame&& frame) {
  switch (static_cast<Message>(frame.type)) {
    case Message::loading:
      host_.loading = std::move(frame.payload);
      return;
    case Message::failed:
      host_.words = decoded<LastWords>(frame.payload);
      if (state_ == State::preparing) refuse(*host_.words);
      return;
    case Message::prepared:
      if (state_ == State::preparing) on_prepared(frame.payload);
      return;
    case Message::spawned:
      return on_spawned(decoded<Spawned>(frame.payload));
    case Message::signal_seen:
      return on_signal(std::stoi(frame.payload), Asker::rank);
    default:
      DTRAIN_CHECK(false, "the host sent message " + std::to_string(frame.type));
  }
}

void Agent::on_prepared(const std::string& settings) {
  settings_ = settings;
  if (request_.dry_run) {
    client_.send(Message::ready, settings);
    outcome_.emplace();
    return begin_closing();
  }
  try {
    open_run_dir();
    client_.send(Message::ready, settings);
    state_ = State::starting;
    for (int number = 0; number < request_.ranks; ++number) spawn_rank(number);
  } catch (...) {
    refuse(last_words_of_current_exception());
  }
}

void Agent::open_run_dir() {
  namespace fs = std::filesystem;
  const fs::path dir = request_.new_run_dir ? make_new_dir(request_.run_dir) : fs::path(request_.run_dir);
  lock_.after_prepare(dir);
  run_dir_ = dir.string();
  fs::create_directories(dir / "logs");
  events_ = EventLog(dir);
  agent_log_ = LineFile(dir / "logs" / "agent.log");
  log_ = Logger([this](std::string_view line) { agent_log_.append(line); });
  host_.log->attach(LineFile(dir / "logs" / "host.log"));
  log_.info("start",
            {{"agent", ::getpid()}, {"host_process", host_.pid}, {"host", host_name()}, {"ranks", request_.ranks}});
}

void Agent::host_ended(int status) {
  host_.channel->receive_now();  // what it said last
  host_.channel->close();
  host_.status = status;
  if (host_.log->open()) close_log(*host_.log);
  const auto what = describe_status(status);
  if (state_ == State::preparing) {
    const int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    if (signal == SIGINT || signal == SIGTERM || signal == SIGHUP) return on_signal(signal, Asker::rank);
    if (!host_.loading.empty() && signal != SIGKILL) {
      return refuse({LastWords::Kind::user,
                     "plugin " + host_.loading + " crashed while it was being loaded: the host process " + what,
                     "rebuild the plugin against this dtrain, or leave it out", "", 2});
    }
    const auto& last = host_.log->last_line();
    return refuse(
        {LastWords::Kind::other,
         "the host process " + what + " while it prepared the run" + (last.empty() ? "" : "; last words: " + last), "",
         "", 1});
  }
  if (state_ != State::closing && state_ != State::ended) {
    log_.error("host-lost", {{"status", what}});
    event(nlohmann::json{{"event", "host_lost"}, {"host", host_name()}, {"status", what}}.dump());
    host_lost_ = true;
    for (auto& rank : ranks_) {
      if (rank->pid == 0) rank->ended = true;  // never started
    }
    if (state_ == State::starting || state_ == State::running) {
      note("the host process " + what + ": stopping");
      begin_stop(SIGTERM, grace_or(3));
    }
    check_all_ended();
  }
}

}  // namespace dtrain
