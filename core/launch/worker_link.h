// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "core/base/frames.h"
#include "core/launch/host_program.h"
#include "core/launch/messages.h"
#include "core/launch/phase_page.h"

namespace dtrain {

// A worker's line to its agent. Its control thread alone touches the socket; calls of other threads queue for it. It
// reads SIGINT, SIGTERM and SIGHUP, which the process has blocked before, and passes them to the agent. When the agent
// closes the line the process ends at once with exit code 1: without an agent there is no run.
class WorkerLink final : public AgentLink {
 public:
  WorkerLink(UniqueFd socket, PhasePage page);
  ~WorkerLink() override;

  void set(const std::string& key, std::span<const std::byte> value) override;
  std::vector<std::byte> get(const std::string& key, std::chrono::milliseconds timeout) override;
  bool stop_requested() const override { return stop_.load(std::memory_order_relaxed); }
  void phase(std::string_view phase, std::int64_t step) override { page_.write(phase, step); }
  void report(const std::string& json, bool event) override;
  void on_abort(std::function<void()> abort) override;

  void say_last_words(const LastWords& words);

  // Returns when all that was queued is with the kernel.
  void flush();

 private:
  // Unsent bytes above which callers wait for the control thread.
  static constexpr std::size_t kMaxQueued = std::size_t{8} << 20;

  struct Pending {
    bool done = false;
    std::string value;
  };

  void queue(Message type, std::string payload);
  void wake();
  void control_loop(int signals);
  bool send_queued();
  void handle(Frame&& frame);
  void abort_now();

  FrameSocket socket_;  // the control thread's own
  PhasePage page_;
  UniqueFd wakeup_;
  std::atomic<bool> stop_{false};

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::pair<Message, std::string>> queue_;
  std::size_t queued_bytes_ = 0;  // in queue_ and in socket_
  std::uint64_t next_id_ = 1;
  std::map<std::uint64_t, Pending*> pending_;
  bool closing_ = false;
  bool aborted_ = false;

  std::mutex abort_mutex_;  // held while the function runs
  std::function<void()> on_abort_;

  std::thread control_;
};

}  // namespace dtrain
