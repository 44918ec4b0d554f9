// SPDX-License-Identifier: Apache-2.0
//
// What the launcher starts. The launcher knows processes, sockets and signals; a HostProgram knows training. The
// runtime implements it (core/worker); tests of the launcher implement it with fakes.
#pragma once

#include <dtrain/comm.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

namespace dtrain {

// One worker's line to its agent. Thread-safe. The agent's death ends the process: nobody need poll for it.
class AgentLink : public Rendezvous {
 public:
  virtual ~AgentLink() = default;

  // True once the agent asked for a coordinated stop (SIGTERM or SIGINT somewhere). The step loop puts it into its next
  // commit, so that all ranks stop after the same step.
  virtual bool stop_requested() const = 0;

  // Says what this rank is doing, for liveness, messages and `dtrain ps`: "join", "data", "forward", "reduce", "save"
  // ... Cheap: called several times a step. Kept to 31 bytes.
  virtual void phase(std::string_view phase, std::int64_t step) = 0;

  // One JSON object for whoever watches the run (progress, evaluation, saves); the agent passes it to the client and,
  // when `event` says so, appends it to events.jsonl. Rank 0 sends most of them.
  virtual void report(const std::string& json, bool event) = 0;

  // `abort` is called once when another rank has failed and waiting for it is pointless: on the link's own thread, or
  // at once by this call when that has happened already. It only interrupts waits (Communicator::abort). Waits of get()
  // end with RecoverableError (aborted) by themselves. An empty function withdraws it; after the return the old one is
  // not running and never called again.
  virtual void on_abort(std::function<void()> abort) = 0;
};

struct WorkerSeat {
  int rank = 0;
  int world = 1;
  std::uint64_t generation = 1;
  std::string run_dir;  // exists, and is locked for this run
};

// The host's word on what it does while it prepares, so that a crash there can be explained.
class PrepareWatch {
 public:
  // Call before loading a plugin or asking one for a component: when the process dies then, the run is refused (exit 2)
  // naming this file. Empty: no plugin's code is running.
  virtual void loading(std::string_view plugin_file) = 0;

 protected:
  ~PrepareWatch() = default;
};

class HostProgram {
 public:
  virtual ~HostProgram() = default;

  // In the host process, on its only thread: loads plugins, opens data, checks everything that can be checked. Returns
  // a JSON object for the client's table of settings: {"settings": [["name", "value"], ...], "total_steps": N, "unit":
  // "tokens" or "samples"}. Throws UserError: exit 2, no worker starts. The run directory may not exist yet and must
  // not be written to; a new run may get another name than this one (WorkerSeat has the final one). Descriptors left
  // open are inherited by the workers.
  virtual std::string prepare(const std::string& plan_json, const std::string& run_dir, PrepareWatch& watch) = 0;

  // In a forked child. Returns the process's exit code: 0 done or stopped as asked, 1 failed, 4 diverged. Exceptions
  // that escape are reported by the launcher with the exit code of the error.
  virtual int run_worker(const WorkerSeat& seat, AgentLink& link) = 0;
};

}  // namespace dtrain
