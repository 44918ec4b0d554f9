// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>

#include "core/base/unique_fd.h"

namespace dtrain {

// Waits for descriptors and times on one thread (epoll). Handlers may add and remove anything, themselves included.
// What a handler throws leaves run_once().
class EventLoop {
 public:
  using Clock = std::chrono::steady_clock;
  using Handler = std::function<void(std::uint32_t events)>;
  using TimerId = std::uint64_t;

  EventLoop();

  // `events` as for epoll: EPOLLIN, EPOLLOUT. The descriptor stays the caller's, who forgets it before closing it.
  void watch(int fd, std::uint32_t events, Handler handler);
  void change(int fd, std::uint32_t events);
  void forget(int fd);
  bool watches(int fd) const { return entries_.contains(fd); }

  TimerId at(Clock::time_point when, std::function<void()> action);
  TimerId after(Clock::duration delay, std::function<void()> action) {
    return at(Clock::now() + delay, std::move(action));
  }
  void cancel(TimerId id);  // harmless when it has fired

  // Waits until something happens, runs what is due, returns.
  void run_once();

 private:
  struct Entry {
    std::uint32_t events = 0;
    std::uint32_t generation = 0;
    Handler handler;
  };

  void run_timers();
  int wait_ms() const;

  UniqueFd epoll_;
  std::uint32_t generation_ = 0;
  TimerId next_timer_ = 1;
  std::map<int, std::shared_ptr<Entry>> entries_;
  std::map<std::pair<Clock::time_point, TimerId>, std::function<void()>> timers_;
};

}  // namespace dtrain
