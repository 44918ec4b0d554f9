// SPDX-License-Identifier: Apache-2.0
//
// What the processes of a run say to each other, as frames (core/base/frames.h). Structured ones are JSON; all ends are
// the same binary, so the format needs no version.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/launch/host_program.h"

namespace dtrain {

enum class Message : std::uint8_t {
  // client -> agent
  run = 1,  // RunRequest
  stop,     // decimal signal number; also client of the control socket -> agent, agent -> worker (empty)
  // agent -> client
  note,     // a line for the user
  log,      // whole lines, tagged
  ready,    // what prepare returned
  started,  // Started
  report,   // a worker's JSON
  end,      // Outcome; nothing follows
  // agent -> host
  prepare,  // RunRequest
  spawn,    // WorkerSeat; descriptors: socket, log pipe, phase page
  // host -> agent
  loading,   // file name of a plugin
  failed,    // LastWords
  prepared,  // what prepare returned
  spawned,   // Spawned
  // host or worker -> agent
  signal_seen,  // decimal signal number
  // worker -> agent
  set,         // key and value
  get,         // id and key
  event,       // like report, and kept in events.jsonl
  last_words,  // LastWords
  // agent -> worker
  value,  // id and value
  abort,
  // control socket
  status,  // ask: empty; answer: RunStatus JSON
};

struct RunRequest {
  std::string name;
  std::string plan_json;
  std::string run_dir;       // absolute
  bool new_run_dir = false;  // the agent makes it, under a name with a suffix when this one is taken
  int ranks = 1;
  std::int64_t threads = 1;  // compute threads a rank
  double grace_s = 30;       // from a stop signal to the last process gone
  bool detach = false;
  bool dry_run = false;  // prepare only: no run directory, no worker
};

struct Started {
  std::string run_dir;
  int agent_pid = 0;
};

struct Spawned {
  int rank = 0;
  int pid = 0;
  int error = 0;  // errno when there is no process
};

// Why a program ended, in its own words.
struct LastWords {
  enum class Kind { user, recoverable, invariant, other };
  Kind kind = Kind::other;
  std::string message;
  std::string hint;
  std::string place;
  int exit_code = 1;
};

// Converts the exception being handled.
LastWords last_words_of_current_exception();

// How one rank ended other than well.
struct RankFailure {
  int rank = 0;
  std::string host;
  int wait_status = 0;
  std::string phase;
  std::int64_t step = -1;
  std::optional<LastWords> words;
  std::string last_line;  // of its output

  // "rank 2 on HOST was killed by signal 9 (SIGKILL) in phase forward, step 17; last words: ..."
  std::string text() const;
};

struct Outcome {
  int exit_code = 0;
  std::string message;  // empty when exit_code is 0
  std::string hint;
  std::string place;
  std::string run_dir;  // empty when none was made
  int signal = 0;       // that asked for the stop
  std::optional<RankFailure> failure;
};

struct WorkerStatus {
  int rank = 0;
  int pid = 0;
  bool ended = false;
  std::string phase;
  std::int64_t step = -1;
  double seconds_in_phase = 0;
};

struct RunStatus {
  std::string name;
  std::string run_dir;
  std::string state;  // of the agent, as in STATES.md
  int agent_pid = 0;
  std::int64_t total_steps = 0;  // 0: not known
  std::string last_step;         // the newest step report, JSON; empty before the first
  std::vector<WorkerStatus> workers;
};

std::string encode(const RunRequest& value);
std::string encode(const WorkerSeat& value);
std::string encode(const Started& value);
std::string encode(const Spawned& value);
std::string encode(const LastWords& value);
std::string encode(const Outcome& value);
std::string encode(const RunStatus& value);

// InvariantError: not what encode() writes.
void decode(const std::string& text, RunRequest& value);
void decode(const std::string& text, WorkerSeat& value);
void decode(const std::string& text, Started& value);
void decode(const std::string& text, Spawned& value);
void decode(const std::string& text, LastWords& value);
void decode(const std::string& text, Outcome& value);
void decode(const std::string& text, RunStatus& value);

template <class T>
T decoded(const std::string& text) {
  T value;
  decode(text, value);
  return value;
}

}  // namespace dtrain
