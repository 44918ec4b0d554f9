// SPDX-License-Identifier: Apache-2.0
#include "core/launch/worker_link.h"

#include <dtrain/error.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>

#include "core/launch/rendezvous_store.h"
#include "core/launch/stop_signals.h"

namespace dtrain {
namespace {

constexpr std::size_t kFrameOverhead = 8;

}  // namespace

WorkerLink::WorkerLink(UniqueFd socket, PhasePage page)
    : socket_(std::move(socket)), page_(std::move(page)), wakeup_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!wakeup_.valid()) throw std::system_error(errno, std::generic_category(), "eventfd");
  control_ = std::thread([this, signals = stop_signal_fd()]() mutable { control_loop(signals.get()); });
}

WorkerLink::~WorkerLink() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  wake();
  control_.join();
}

void WorkerLink::wake() {
  const std::uint64_t one = 1;
  // Fails only when the counter is full, and then the thread is being woken already.
  if (::write(wakeup_.get(), &one, sizeof one) < 0) return;
}

void WorkerLink::queue(Message type, std::string payload) {
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return queued_bytes_ < kMaxQueued; });
    queued_bytes_ += payload.size() + kFrameOverhead;
    queue_.emplace_back(type, std::move(payload));
  }
  wake();
}

void WorkerLink::set(const std::string& key, std::span<const std::byte> value) {
  queue(Message::set, encode_set(key, {reinterpret_cast<const char*>(value.data()), value.size()}));
}

std::vector<std::byte> WorkerLink::get(const std::string& key, std::chrono::milliseconds timeout) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  Pending pending;
  std::uint64_t id;
  {
    const std::lock_guard lock(mutex_);
    id = next_id_++;
    pending_.emplace(id, &pending);
  }
  queue(Message::get, encode_tagged(id, key));
  std::unique_lock lock(mutex_);
  changed_.wait_until(lock, deadline, [&] { return pending.done || aborted_; });
  pending_.erase(id);
  if (pending.done) {
    std::vector<std::byte> value(pending.value.size());
    std::memcpy(value.data(), pending.value.data(), value.size());
    return value;
  }
  using Kind = RecoverableError::Kind;
  if (aborted_)
    throw RecoverableError(Kind::aborted, "waiting for '" + key + "' was given up: another rank has failed");
  throw RecoverableError(Kind::timeout, "rendezvous timed out: no rank has set '" + key + "' within " +
                                            std::to_string(timeout.count()) + " ms");
}

void WorkerLink::report(const std::string& json, bool event) {
  queue(event ? Message::event : Message::report, json);
}

void WorkerLink::on_abort(std::function<void()> abort) {
  const std::lock_guard running(abort_mutex_);
  on_abort_ = std::move(abort);
  bool now;
  {
    const std::lock_guard lock(mutex_);
    now = aborted_;
  }
  if (now && on_abort_) std::exchange(on_abort_, nullptr)();
}

void WorkerLink::abort_now() {
  {
    const std::lock_guard lock(mutex_);
    aborted_ = true;
  }
  changed_.notify_all();
  const std::lock_guard running(abort_mutex_);
  if (on_abort_) std::exchange(on_abort_, nullptr)();
}

void WorkerLink::say_last_words(const LastWords& words) {
  queue(Message::last_words, encode(words));
}

void WorkerLink::flush() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return queue_.empty() && queued_bytes_ == 0; });
}

// Moves what is queued into the socket; true when the kernel has all of it.
bool WorkerLink::send_queued() {
  std::deque<std::pair<Message, std::string>> batch;
  {
    const std::lock_guard lock(mutex_);
    batch.swap(queue_);
  }
  for (const auto& [type, payload] : batch) socket_.send(static_cast<std::uint8_t>(type), payload);
  const bool all = socket_.flush();
  if (all) {
    {
      const std::lock_guard lock(mutex_);
      queued_bytes_ = 0;
      for (const auto& entry : queue_) queued_bytes_ += entry.second.size() + kFrameOverhead;
    }
    changed_.notify_all();
  }
  return all;
}

void WorkerLink::handle(Frame&& frame) {
  switch (static_cast<Message>(frame.type)) {
    case Message::stop:
      stop_.store(true, std::memory_order_relaxed);
      return;
    case Message::abort:
      abort_now();
      return;
    case Message::value: {
      auto [id, value] = decode_tagged(frame.payload);
      {
        const std::lock_guard lock(mutex_);
        const auto it = pending_.find(id);
        if (it == pending_.end()) return;  // it timed out meanwhile
        it->second->value = std::move(value);
        it->second->done = true;
      }
      changed_.notify_all();
      return;
    }
    default:
      DTRAIN_CHECK(false, "the agent sent a message that a worker does not take: " + std::to_string(frame.type));
  }
}

void WorkerLink::control_loop(int signals) {
  ::prctl(PR_SET_NAME, "control");
  std::array<pollfd, 3> fds{{{socket_.fd(), POLLIN, 0}, {wakeup_.get(), POLLIN, 0}, {signals, POLLIN, 0}}};
  while (true) {
    const bool all_sent = send_queued();
    {
      const std::lock_guard lock(mutex_);
      if (closing_) return;
    }
    fds[0].events = static_cast<short>(POLLIN | (all_sent ? 0 : POLLOUT));
    if (::poll(fds.data(), fds.size(), -1) < 0 && errno != EINTR) return;
    if (fds[1].revents != 0) {
      std::uint64_t count;
      if (::read(wakeup_.get(), &count, sizeof count) < 0 && errno != EAGAIN) return;
    }
    if (const int signal = fds[2].revents != 0 ? read_signal(signals) : 0; signal != 0) {
      socket_.send(static_cast<std::uint8_t>(Message::signal_seen), std::to_string(signal));
    }
    if ((fds[0].revents & ~POLLOUT) != 0 && !socket_.receive([this](Frame&& frame) { handle(std::move(frame)); })) {
      ::_exit(1);
    }
  }
}

}  // namespace dtrain
