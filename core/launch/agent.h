// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/base/channel.h"
#include "core/base/log.h"
#include "core/launch/client_port.h"
#include "core/launch/control_port.h"
#include "core/launch/event_log.h"
#include "core/launch/log_relay.h"
#include "core/launch/messages.h"
#include "core/launch/phase_page.h"
#include "core/launch/registry.h"
#include "core/launch/rendezvous_store.h"
#include "core/launch/run_dir.h"

namespace dtrain {

// The process that owns a run on its node. Its states and what happens in each at every event stand in STATES.md. One
// thread, one loop; nothing here waits.
class Agent {
 public:
  explicit Agent(UniqueFd client);

  // Until the run has ended and the client knows. Returns the run's exit code.
  int run();

 private:
  using Clock = EventLoop::Clock;
  enum class State { waiting, preparing, starting, running, stopping, failing, killing, closing, ended };
  enum class Asker { user, rank };  // whose signal it was: a user's second SIGINT ends the run at once

  struct Host {
    pid_t pid = 0;
    std::unique_ptr<Channel> channel;
    std::unique_ptr<LogRelay> log;
    std::string loading;  // the plugin whose code runs
    std::optional<LastWords> words;
    std::optional<int> status;
  };

  struct Rank {
    int number = 0;
    pid_t pid = 0;  // 0: not known yet
    std::unique_ptr<Channel> channel;
    std::unique_ptr<LogRelay> log;
    std::unique_ptr<PhasePage> page;
    std::optional<LastWords> words;
    bool ended = false;
  };

  // agent.cpp: client, signals, states, end
  void on_client_frame(Frame&& frame);
  void on_client_lost();
  void on_process_signal();
  void on_signal(int signal, Asker asker);
  void begin_stop(int signal, Clock::duration grace);
  void begin_abort();
  void kill_all();
  void refuse(LastWords words);
  void begin_closing();
  void continue_closing();
  void end();
  Outcome outcome() const;
  Outcome outcome_of_failure(const RankFailure& failure) const;
  void note(const std::string& text);
  void event(const std::string& json);
  RunStatus status() const;
  std::string_view state_name() const;
  Clock::duration grace_or(double limit_s) const;

  // agent_host.cpp: the host and the preparation
  void start(RunRequest request);
  void start_host();
  void on_host_frame(Frame&& frame);
  void on_prepared(const std::string& settings);
  void open_run_dir();
  void host_ended(int status);

  // agent_ranks.cpp: the workers
  void spawn_rank(int number);
  void on_spawned(const Spawned& spawned);
  void started();
  void on_rank_frame(Rank& rank, Frame&& frame);
  void on_report(Rank& rank, const std::string& json, bool is_event);
  void tell(Rank& rank, Message type, std::string_view payload);
  void on_log(LogRelay& log);
  void close_log(LogRelay& log);
  void pause_logs();
  void resume_logs();
  void reap();
  void rank_ended(Rank& rank, int status);
  void note_failure(Rank& rank, int status);
  void check_all_ended();
  bool own_doing(int status) const;
  const RankFailure* named_failure() const;

  EventLoop loop_;
  UniqueFd signals_;
  ClientPort client_;
  State state_ = State::waiting;
  RunRequest request_;
  std::string settings_;
  RunDirLock lock_;
  EventLog events_;
  LineFile agent_log_;
  Logger log_;
  std::unique_ptr<Registration> registration_;
  std::unique_ptr<ControlPort> control_;
  Host host_;
  std::vector<std::unique_ptr<Rank>> ranks_;
  std::map<pid_t, int> early_;  // ended before the host had told whose they are
  RendezvousStore store_;
  std::set<int> paused_logs_;  // descriptors
  std::string last_step_;      // newest step report
  std::string run_dir_;        // once it exists
  bool started_ = false;

  int stop_signal_ = 0;
  Clock::time_point stop_time_;
  Clock::time_point grace_end_ = Clock::time_point::max();
  EventLoop::TimerId grace_timer_ = 0;
  bool grace_over_ = false;
  bool ended_by_user_ = false;  // second SIGINT
  bool host_lost_ = false;
  std::vector<int> killed_ranks_;
  std::vector<RankFailure> failures_;  // in order of arrival
  std::optional<Outcome> outcome_;
};

}  // namespace dtrain
