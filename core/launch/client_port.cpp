// SPDX-License-Identifier: Apache-2.0
#include "core/launch/client_port.h"

#include <algorithm>
#include <string>

namespace dtrain {

ClientPort::ClientPort(EventLoop& loop, UniqueFd socket, Handler on_frame, std::function<void()> on_room,
                       std::function<void()> on_close)
    : channel_(loop, std::move(socket),
               {std::move(on_frame), std::move(on_close), [this](std::size_t bytes) { on_written(bytes); }}),
      on_room_(std::move(on_room)) {}

void ClientPort::send(Message type, std::string_view payload) {
  if (channel_.backlog() == 0) progress_ = EventLoop::Clock::now();
  channel_.send(static_cast<std::uint8_t>(type), payload);
}

void ClientPort::offer(Message type, std::string_view payload) {
  if (!attached()) return;
  const bool full = backlog() >= kHigh;
  if (full && EventLoop::Clock::now() - progress_ >= kPatience) dropping_ = true;
  // Twice the limit is reached only by reports, whose senders are not made to wait.
  if (dropping_ || backlog() >= 2 * kHigh) {
    dropped_ += type == Message::log ? static_cast<std::uint64_t>(std::count(payload.begin(), payload.end(), '\n')) : 1;
  } else {
    send(type, payload);
  }
}

bool ClientPort::congested() const {
  return attached() && !dropping_ && backlog() >= kHigh && EventLoop::Clock::now() - progress_ < kPatience;
}

void ClientPort::on_written(std::size_t bytes) {
  if (bytes > 0) progress_ = EventLoop::Clock::now();
  if (backlog() > kLow) return;
  dropping_ = false;
  if (dropped_ > 0) {
    send(Message::note,
         std::to_string(dropped_) + " lines were not shown because nobody read them; the run's logs/ has them");
    dropped_ = 0;
  }
  on_room_();
}

}  // namespace dtrain
