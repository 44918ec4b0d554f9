// SPDX-License-Identifier: Apache-2.0
#include "core/base/frames.h"

#include <dtrain/error.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>

namespace dtrain {
namespace {

constexpr std::size_t kHeader = 8;
constexpr std::size_t kReadBudget = std::size_t{1} << 20;

std::string header(std::uint8_t type, std::size_t payload, std::size_t fds) {
  std::string out(kHeader, '\0');
  for (std::size_t i = 0; i < 4; ++i) out[i] = static_cast<char>((payload >> (8 * i)) & 0xff);
  out[4] = static_cast<char>(type);
  out[5] = static_cast<char>(fds);
  return out;
}

std::size_t payload_length(const char* head) {
  std::size_t length = 0;
  for (std::size_t i = 0; i < 4; ++i) length |= std::size_t{static_cast<unsigned char>(head[i])} << (8 * i);
  return length;
}

// How long to wait from now, in poll's terms.
class Deadline {
 public:
  explicit Deadline(std::chrono::milliseconds timeout)
      : endless_(timeout.count() < 0), end_(std::chrono::steady_clock::now() + timeout) {}
  int remaining_ms() const {
    if (endless_) return -1;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end_ - std::chrono::steady_clock::now()).count();
    return static_cast<int>(std::max<std::int64_t>(left, 0));
  }

 private:
  bool endless_;
  std::chrono::steady_clock::time_point end_;
};

// False when the time is over.
bool wait_for(int fd, short events, const Deadline& deadline) {
  pollfd entry{fd, events, 0};
  while (true) {
    const int n = ::poll(&entry, 1, deadline.remaining_ms());
    if (n > 0) return true;
    if (n == 0) return false;
    if (errno != EINTR) throw std::system_error(errno, std::generic_category(), "poll");
  }
}

}  // namespace

std::pair<UniqueFd, UniqueFd> socket_pair() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    throw std::system_error(errno, std::generic_category(), "socketpair");
  }
  return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

FrameSocket::FrameSocket(UniqueFd fd) : fd_(std::move(fd)) {
  const int flags = ::fcntl(fd_.get(), F_GETFL);
  if (flags < 0 || ::fcntl(fd_.get(), F_SETFL, flags | O_NONBLOCK) < 0) {
    throw std::system_error(errno, std::generic_category(), "fcntl");
  }
}

void FrameSocket::close() {
  fd_.reset();
  out_.clear();
  offset_ = backlog_ = 0;
}

void FrameSocket::send(std::uint8_t type, std::string_view payload, std::vector<UniqueFd> fds) {
  DTRAIN_CHECK(payload.size() <= kMaxPayload && fds.size() <= kMaxFds, std::to_string(payload.size()));
  if (!fd_.valid()) return;
  auto bytes = header(type, payload.size(), fds.size());
  bytes.append(payload);
  backlog_ += bytes.size();
  out_.push_back({std::move(bytes), std::move(fds)});
  flush();
}

std::ptrdiff_t FrameSocket::write_some() {
  auto& front = out_.front();
  iovec part{front.bytes.data() + offset_, front.bytes.size() - offset_};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int) * kMaxFds)> control{};
  if (offset_ == 0 && !front.fds.empty()) {
    message.msg_control = control.data();
    message.msg_controllen = CMSG_SPACE(sizeof(int) * front.fds.size());
    cmsghdr* entry = CMSG_FIRSTHDR(&message);
    entry->cmsg_level = SOL_SOCKET;
    entry->cmsg_type = SCM_RIGHTS;
    entry->cmsg_len = CMSG_LEN(sizeof(int) * front.fds.size());
    for (std::size_t i = 0; i < front.fds.size(); ++i) {
      const int fd = front.fds[i].get();
      std::memcpy(CMSG_DATA(entry) + i * sizeof(int), &fd, sizeof(int));
    }
  }
  return ::sendmsg(fd_.get(), &message, MSG_NOSIGNAL);
}

bool FrameSocket::flush() {
  while (!out_.empty() && fd_.valid()) {
    const auto n = write_some();
    if (n < 0) {
      if (errno == EINTR) continue;
      if (errno == EAGAIN || errno == EWOULDBLOCK) return false;
      out_.clear();  // the peer is gone; receive() says so
      offset_ = backlog_ = 0;
      return true;
    }
    offset_ += static_cast<std::size_t>(n);
    backlog_ -= static_cast<std::size_t>(n);
    out_.front().fds.clear();
    if (offset_ == out_.front().bytes.size()) {
      out_.pop_front();
      offset_ = 0;
    }
  }
  return true;
}

bool FrameSocket::read_some(std::size_t& got) {
  std::array<char, 64 << 10> buffer;
  iovec part{buffer.data(), buffer.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int) * kMaxFds)> control;
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  std::ptrdiff_t n;
  do {
    n = ::recvmsg(fd_.get(), &message, MSG_CMSG_CLOEXEC);
  } while (n < 0 && errno == EINTR);
  got = 0;
  if (n < 0) return errno == EAGAIN || errno == EWOULDBLOCK;
  for (cmsghdr* entry = CMSG_FIRSTHDR(&message); entry != nullptr; entry = CMSG_NXTHDR(&message, entry)) {
    if (entry->cmsg_level != SOL_SOCKET || entry->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (entry->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd;
      std::memcpy(&fd, CMSG_DATA(entry) + i * sizeof(int), sizeof(int));
      in_fds_.emplace_back(fd);
    }
  }
  if (n == 0) return false;
  in_.append(buffer.data(), static_cast<std::size_t>(n));
  got = static_cast<std::size_t>(n);
  return true;
}

bool FrameSocket::take_frame(Frame& frame) {
  const std::size_t available = in_.size() - in_begin_;
  if (available < kHeader) return false;
  const char* head = in_.data() + in_begin_;
  const std::size_t length = payload_length(head);
  const std::size_t fds = static_cast<unsigned char>(head[5]);
  DTRAIN_CHECK(length <= kMaxPayload && fds <= kMaxFds && head[6] == 0 && head[7] == 0, "malformed frame");
  if (available < kHeader + length) return false;
  DTRAIN_CHECK(in_fds_.size() >= fds, "a frame came without its descriptors");
  frame.type = static_cast<std::uint8_t>(head[4]);
  frame.payload.assign(in_, in_begin_ + kHeader, length);
  frame.fds.clear();
  for (std::size_t i = 0; i < fds; ++i) {
    frame.fds.push_back(std::move(in_fds_.front()));
    in_fds_.pop_front();
  }
  in_begin_ += kHeader + length;
  if (in_begin_ == in_.size()) {
    in_.clear();
    in_begin_ = 0;
  } else if (in_begin_ > kReadBudget) {
    in_.erase(0, in_begin_);
    in_begin_ = 0;
  }
  return true;
}

bool FrameSocket::receive(const std::function<void(Frame&&)>& handle) {
  for (std::size_t total = 0; fd_.valid() && !peer_closed_ && total < kReadBudget;) {
    std::size_t got = 0;
    peer_closed_ = !read_some(got);
    for (Frame frame; take_frame(frame);) handle(std::move(frame));
    if (got == 0) break;
    total += got;
  }
  return fd_.valid() && !peer_closed_;
}

std::optional<Frame> FrameSocket::next(std::chrono::milliseconds timeout) {
  const Deadline deadline(timeout);
  while (ready_.empty()) {
    if (peer_closed_ || !fd_.valid() || !wait_for(fd_.get(), POLLIN, deadline)) return std::nullopt;
    receive([this](Frame&& frame) { ready_.push_back(std::move(frame)); });
  }
  Frame frame = std::move(ready_.front());
  ready_.pop_front();
  return frame;
}

bool FrameSocket::drain(std::chrono::milliseconds timeout) {
  const Deadline deadline(timeout);
  while (!flush()) {
    if (!wait_for(fd_.get(), POLLOUT, deadline)) return false;
  }
  return fd_.valid();
}

}  // namespace dtrain
