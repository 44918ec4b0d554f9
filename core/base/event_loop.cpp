// SPDX-License-Identifier: Apache-2.0
#include "core/base/event_loop.h"

#include <dtrain/error.h>
#include <sys/epoll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>

namespace dtrain {
namespace {

std::uint64_t pack(int fd, std::uint32_t generation) {
  return (std::uint64_t{generation} << 32) | static_cast<std::uint32_t>(fd);
}

void control(int epoll, int operation, int fd, std::uint32_t events, std::uint32_t generation) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = pack(fd, generation);
  if (::epoll_ctl(epoll, operation, fd, &event) != 0) {
    throw std::system_error(errno, std::generic_category(), "epoll_ctl");
  }
}

}  // namespace

EventLoop::EventLoop() : epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
  if (!epoll_.valid()) throw std::system_error(errno, std::generic_category(), "epoll_create1");
}

void EventLoop::watch(int fd, std::uint32_t events, Handler handler) {
  DTRAIN_CHECK(!entries_.contains(fd), "descriptor is watched already");
  auto entry = std::make_shared<Entry>(Entry{events, ++generation_, std::move(handler)});
  control(epoll_.get(), EPOLL_CTL_ADD, fd, events, entry->generation);
  entries_.emplace(fd, std::move(entry));
}

void EventLoop::change(int fd, std::uint32_t events) {
  auto& entry = *entries_.at(fd);
  if (entry.events == events) return;
  entry.events = events;
  control(epoll_.get(), EPOLL_CTL_MOD, fd, events, entry.generation);
}

void EventLoop::forget(int fd) {
  if (entries_.erase(fd) == 0) return;
  control(epoll_.get(), EPOLL_CTL_DEL, fd, 0, 0);
}

EventLoop::TimerId EventLoop::at(Clock::time_point when, std::function<void()> action) {
  const TimerId id = next_timer_++;
  timers_.emplace(std::pair(when, id), std::move(action));
  return id;
}

void EventLoop::cancel(TimerId id) {
  std::erase_if(timers_, [id](const auto& timer) { return timer.first.second == id; });
}

int EventLoop::wait_ms() const {
  if (timers_.empty()) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(timers_.begin()->first.first - Clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 60'000));
}

void EventLoop::run_timers() {
  const auto now = Clock::now();
  while (!timers_.empty() && timers_.begin()->first.first <= now) {
    auto node = timers_.extract(timers_.begin());
    node.mapped()();
  }
}

void EventLoop::run_once() {
  std::array<epoll_event, 64> events;
  const int n = ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), wait_ms());
  if (n < 0 && errno != EINTR) throw std::system_error(errno, std::generic_category(), "epoll_wait");
  for (int i = 0; i < n; ++i) {
    const auto& event = events[static_cast<std::size_t>(i)];
    const int fd = static_cast<int>(event.data.u64 & 0xffffffffu);
    const auto it = entries_.find(fd);
    // An earlier handler of this round may have forgotten the descriptor, or a new one may have its number.
    if (it == entries_.end() || it->second->generation != event.data.u64 >> 32) continue;
    const auto entry = it->second;  // keeps the handler alive while it forgets itself
    entry->handler(event.events);
  }
  run_timers();
}

}  // namespace dtrain
