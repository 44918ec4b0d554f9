// SPDX-License-Identifier: Apache-2.0
#include "core/launch/control_port.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <system_error>

namespace dtrain {
namespace {

constexpr std::size_t kMaxConnections = 32;

sockaddr_un address_of(const std::filesystem::path& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const auto text = path.string();
  if (text.size() >= sizeof address.sun_path) throw std::system_error(ENAMETOOLONG, std::generic_category(), text);
  std::memcpy(address.sun_path, text.data(), text.size());
  return address;
}

UniqueFd unix_socket() {
  UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.valid()) throw std::system_error(errno, std::generic_category(), "socket");
  return fd;
}

std::optional<FrameSocket> connect_to(const std::filesystem::path& path) {
  auto fd = unix_socket();
  const auto address = address_of(path);
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) return std::nullopt;
  return FrameSocket(std::move(fd));
}

}  // namespace

ControlPort::ControlPort(EventLoop& loop, const std::filesystem::path& socket, Handlers handlers)
    : loop_(loop), handlers_(std::move(handlers)), listener_(unix_socket()) {
  const auto address = address_of(socket);
  if (::bind(listener_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(listener_.get(), 8) != 0) {
    throw std::system_error(errno, std::generic_category(), socket.string());
  }
  loop_.watch(listener_.get(), EPOLLIN, [this](std::uint32_t) { on_connect(); });
}

ControlPort::~ControlPort() {
  loop_.forget(listener_.get());
}

void ControlPort::on_connect() {
  UniqueFd fd(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!fd.valid() || connections_.size() >= kMaxConnections) return;
  const int number = fd.get();
  auto& slot = connections_[number];
  slot = std::make_unique<Channel>(loop_, std::move(fd),
                                   Channel::Handlers{[this, &slot](Frame&& frame) { on_frame(*slot, frame); },
                                                     [this, number] { connections_.erase(number); },
                                                     {}});
}

void ControlPort::on_frame(Channel& connection, const Frame& frame) {
  if (frame.type == static_cast<std::uint8_t>(Message::status)) connection.send(frame.type, handlers_.status());
  if (frame.type == static_cast<std::uint8_t>(Message::stop)) handlers_.stop(std::atoi(frame.payload.c_str()));
}

std::optional<RunStatus> ask_status(const RegisteredRun& run, std::chrono::milliseconds timeout) {
  auto connection = connect_to(run.socket);
  if (!connection) return std::nullopt;
  connection->send(static_cast<std::uint8_t>(Message::status), "");
  const auto answer = connection->next(timeout);
  if (!answer) return std::nullopt;
  return decoded<RunStatus>(answer->payload);
}

bool ask_stop(const RegisteredRun& run, int signal, std::chrono::milliseconds timeout) {
  const UniqueFd agent = pidfd_open(run.agent.pid);
  if (!agent.valid() || !alive(run.agent)) return true;
  if (auto connection = connect_to(run.socket)) {
    connection->send(static_cast<std::uint8_t>(Message::stop), std::to_string(signal));
  } else {
    signal_process(run.agent, signal);
  }
  pollfd ended{agent.get(), POLLIN, 0};
  return ::poll(&ended, 1, static_cast<int>(timeout.count())) == 1;
}

}  // namespace dtrain
