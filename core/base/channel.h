// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "core/base/event_loop.h"
#include "core/base/frames.h"

namespace dtrain {

// A FrameSocket served by an event loop: reads when there is something, writes on when there is room. Same thread as
// the loop, which outlives it.
class Channel {
 public:
  struct Handlers {
    std::function<void(Frame&&)> on_frame;
    std::function<void()> on_close;  // the peer has closed, and this end has been; may destroy the channel
    std::function<void(std::size_t bytes)> on_written;  // late writes only; may be empty
  };

  Channel(EventLoop& loop, UniqueFd socket, Handlers handlers);
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;
  ~Channel() { close(); }

  bool open() const { return socket_.open(); }
  void close();  // no handler is called
  void send(std::uint8_t type, std::string_view payload, std::vector<UniqueFd> fds = {});
  void receive_now();  // hands over what has arrived, without waiting for the loop; does not call on_close
  std::size_t backlog() const { return socket_.backlog(); }

 private:
  void on_events(std::uint32_t events);
  void watch_writes();

  EventLoop& loop_;
  FrameSocket socket_;
  Handlers handlers_;
};

}  // namespace dtrain
