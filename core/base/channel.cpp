// SPDX-License-Identifier: Apache-2.0
#include "core/base/channel.h"

#include <sys/epoll.h>

namespace dtrain {

Channel::Channel(EventLoop& loop, UniqueFd socket, Handlers handlers)
    : loop_(loop), socket_(std::move(socket)), handlers_(std::move(handlers)) {
  loop_.watch(socket_.fd(), EPOLLIN, [this](std::uint32_t events) { on_events(events); });
}

void Channel::close() {
  if (!open()) return;
  loop_.forget(socket_.fd());
  socket_.close();
}

void Channel::watch_writes() {
  loop_.change(socket_.fd(), socket_.backlog() > 0 ? EPOLLIN | EPOLLOUT : EPOLLIN);
}

void Channel::send(std::uint8_t type, std::string_view payload, std::vector<UniqueFd> fds) {
  if (!open()) return;
  socket_.send(type, payload, std::move(fds));
  watch_writes();
}

void Channel::receive_now() {
  if (open()) socket_.receive(handlers_.on_frame);
}

void Channel::on_events(std::uint32_t events) {
  if ((events & EPOLLOUT) != 0) {
    const auto before = socket_.backlog();
    socket_.flush();
    watch_writes();
    if (handlers_.on_written) handlers_.on_written(before - socket_.backlog());
  }
  if (!open() || (events & ~static_cast<std::uint32_t>(EPOLLOUT)) == 0) return;
  if (socket_.receive(handlers_.on_frame) || !open()) return;
  close();
  const auto on_close = handlers_.on_close;
  on_close();  // may have destroyed *this
}

}  // namespace dtrain
