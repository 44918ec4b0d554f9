// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string_view>

#include "core/base/channel.h"
#include "core/launch/messages.h"

namespace dtrain {

// The agent's line to its client, which may be slow, stopped or gone. Log lines and reports are for people: while the
// client takes them, the agent lets the ranks wait for it (congested()); once it has taken nothing for a second they
// are dropped and counted, so neither the ranks wait for ever nor the agent's memory grows. What decides about the run
// (notes, the outcome) is always kept.
class ClientPort {
 public:
  using Handler = std::function<void(Frame&&)>;

  // on_room is called when the client has caught up; on_close when it has gone.
  ClientPort(EventLoop& loop, UniqueFd socket, Handler on_frame, std::function<void()> on_room,
             std::function<void()> on_close);

  bool attached() const { return channel_.open(); }

  void send(Message type, std::string_view payload);   // kept
  void offer(Message type, std::string_view payload);  // dropped when the client does not take it
  bool congested() const;                              // a reason to wait before reading more for it
  std::size_t backlog() const { return channel_.backlog(); }

 private:
  static constexpr std::size_t kHigh = std::size_t{1} << 20;
  static constexpr std::size_t kLow = std::size_t{256} << 10;
  static constexpr std::chrono::seconds kPatience{1};

  void on_written(std::size_t bytes);

  Channel channel_;
  std::function<void()> on_room_;
  EventLoop::Clock::time_point progress_ = EventLoop::Clock::now();
  bool dropping_ = false;
  std::uint64_t dropped_ = 0;
};

}  // namespace dtrain
