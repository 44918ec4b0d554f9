// SPDX-License-Identifier: Apache-2.0
#include "waits.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "signals.h"

namespace dtrain::gloo_plugin {
namespace {

using Kind = RecoverableError::Kind;

constexpr std::chrono::milliseconds kTick{10};
// A process that was stopped and goes on must not find that all its time is over.
constexpr std::chrono::milliseconds kLongestTick{500};
// Gloo closes every connection when its own limit passes; the limit is ours.
constexpr std::chrono::milliseconds kForever = std::chrono::hours(1000);

void interrupt(gloo::transport::UnboundBuffer& buffer, Direction direction) {
  direction == Direction::send ? buffer.abortWaitSend() : buffer.abortWaitRecv();
}

}  // namespace

std::string text_of(const std::exception& error) {
  std::string text = error.what();
  const auto end = text.find("] ");
  return text.starts_with("[") && end != std::string::npos ? text.substr(end + 2) : text;
}

Waits::Waits(std::chrono::milliseconds timeout) : timeout_(timeout) {
  const SignalsBlocked blocked;
  monitor_ = std::thread([this] { run(); });
}

Waits::~Waits() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  monitor_.join();
}

void Waits::wait(gloo::transport::UnboundBuffer& buffer, Direction direction, int peer) {
  std::unique_lock lock(mutex_);
  check_locked();
  const bool first = entries_.empty();
  const auto entry = entries_.insert(entries_.end(), {&buffer, direction, peer, timeout_});
  lock.unlock();
  if (first) changed_.notify_all();

  bool complete = false;
  std::optional<std::string> lost;
  try {
    complete = direction == Direction::send ? buffer.waitSend(kForever) : buffer.waitRecv(kForever);
  } catch (const std::exception& e) {
    lost = text_of(e);
  }

  lock.lock();
  entries_.erase(entry);
  if (complete) return;
  if (lost) fail_locked({Kind::peer_lost, *lost, peer});
  check_locked();
}

void Waits::watch(std::unique_ptr<gloo::transport::UnboundBuffer> buffer, int peer) {
  const std::lock_guard lock(mutex_);
  watches_.resize(std::max(watches_.size(), static_cast<std::size_t>(peer) + 1));
  watches_[static_cast<std::size_t>(peer)] = std::move(buffer);
}

void Waits::fail(const Failure& failure) noexcept {
  const std::lock_guard lock(mutex_);
  fail_locked(failure);
}

void Waits::fail_locked(const Failure& failure) noexcept {
  if (!failure_ || failure.kind == Kind::aborted) failure_ = failure;
  for (const auto& entry : entries_) interrupt(*entry.buffer, entry.direction);
}

void Waits::check_usable() const {
  const std::lock_guard lock(mutex_);
  check_locked();
}

void Waits::check_locked() const {
  if (failure_) throw RecoverableError(failure_->kind, failure_->text, failure_->peer);
}

void Waits::run() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    changed_.wait(lock, [this] { return stopping_ || (!entries_.empty() && !failure_); });
    const auto begin = Clock::now();
    changed_.wait_for(lock, kTick, [this] { return stopping_; });
    check(std::min<Clock::duration>(Clock::now() - begin, kLongestTick));
  }
}

void Waits::check(Clock::duration elapsed) {
  for (auto& entry : entries_) {
    if (failure_) return;
    entry.left -= elapsed;
    if (const auto why = broken(entry.peer)) {
      fail_locked({Kind::peer_lost, *why, entry.peer});
    } else if (entry.left <= Clock::duration::zero()) {
      fail_locked({Kind::timeout, "nothing came within " + std::to_string(timeout_.count()) + " ms", entry.peer});
    }
  }
}

// A wait that is ended before it begins returns at once, unless the connection has failed: then it throws.
std::optional<std::string> Waits::broken(int peer) {
  if (peer < 0 || static_cast<std::size_t>(peer) >= watches_.size() || !watches_[static_cast<std::size_t>(peer)])
    return {};
  auto& watch = *watches_[static_cast<std::size_t>(peer)];
  try {
    watch.abortWaitRecv();
    watch.waitRecv(kForever);
  } catch (const std::exception& e) {
    return text_of(e);
  }
  return {};
}

}  // namespace dtrain::gloo_plugin
