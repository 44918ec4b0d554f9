// SPDX-License-Identifier: Apache-2.0
//
// Every wait of one communicator, so that each of them can be ended: by abort(), by a peer's death, by the clock.
//
// Gloo alone does not do that. Closing a connection leaves its own callers waiting; a message that was cut off in the
// middle waits until its time limit; a time limit that passes in one wait is reported by the others as something else.
#pragma once

#include <dtrain/error.h>
#include <gloo/transport/unbound_buffer.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace dtrain::gloo_plugin {

enum class Direction : std::uint8_t { send, receive };

// Why a group cannot be used any more. The first reason stays, except that abort() replaces it.
struct Failure {
  RecoverableError::Kind kind;
  std::string text;
  int peer = -1;
};

// Any thread.
class Waits {
 public:
  explicit Waits(std::chrono::milliseconds timeout);
  ~Waits();
  Waits(const Waits&) = delete;
  Waits& operator=(const Waits&) = delete;

  // Waits for one transfer of `buffer` with `peer`. Throws RecoverableError when the group fails first.
  void wait(gloo::transport::UnboundBuffer& buffer, Direction direction, int peer);

  // The buffer of a receive from `peer` that never completes: it hears of the connection's end. Kept for ever.
  void watch(std::unique_ptr<gloo::transport::UnboundBuffer> buffer, int peer);

  // Ends all waits, now and later.
  void fail(const Failure& failure) noexcept;
  void check_usable() const;  // throws the failure if there is one

 private:
  using Clock = std::chrono::steady_clock;
  struct Entry {
    gloo::transport::UnboundBuffer* buffer;
    Direction direction;
    int peer;
    Clock::duration left;  // of the time limit
  };

  void run();
  void check(Clock::duration elapsed);
  std::optional<std::string> broken(int peer);
  void fail_locked(const Failure& failure) noexcept;
  void check_locked() const;

  const std::chrono::milliseconds timeout_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::list<Entry> entries_;
  std::vector<std::unique_ptr<gloo::transport::UnboundBuffer>> watches_;  // by peer
  std::optional<Failure> failure_;
  bool stopping_ = false;
  std::thread monitor_;
};

// What Gloo's exception says, without the place in its sources.
std::string text_of(const std::exception& error);

}  // namespace dtrain::gloo_plugin
