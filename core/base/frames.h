// SPDX-License-Identifier: Apache-2.0
//
// Messages over a Unix stream socket. One frame on the wire: u32 payload length, u8 type, u8 number of descriptors, u16
// zero (little endian), then the payload; descriptors travel as SCM_RIGHTS with the frame's first bytes.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/unique_fd.h"

namespace dtrain {

struct Frame {
  std::uint8_t type = 0;
  std::string payload;
  std::vector<UniqueFd> fds;
};

// A connected pair of close-on-exec stream sockets. std::system_error when the system has none left.
std::pair<UniqueFd, UniqueFd> socket_pair();

// One end of a connection, never blocking; used by one thread. A lost peer is not an error of send(): what was queued
// is dropped and receive() tells of it.
class FrameSocket {
 public:
  static constexpr std::size_t kMaxPayload = std::size_t{256} << 20;
  static constexpr std::size_t kMaxFds = 8;

  FrameSocket() = default;
  explicit FrameSocket(UniqueFd fd);  // makes it non-blocking

  int fd() const { return fd_.get(); }
  bool open() const { return fd_.valid(); }
  void close();

  // Queues a frame and writes what the socket takes. The descriptors are duplicated by the kernel when they are sent.
  void send(std::uint8_t type, std::string_view payload, std::vector<UniqueFd> fds = {});

  // Writes what the socket takes; true when nothing is left.
  bool flush();
  std::size_t backlog() const { return backlog_; }  // bytes queued and not yet taken by the kernel

  // Reads what is there and hands over each complete frame, at most 1 MiB of bytes a call so that no peer can starve
  // the others. False when the peer has closed; frames that came before are still handed over. InvariantError:
  // malformed frame.
  bool receive(const std::function<void(Frame&&)>& handle);

  // Blocking helpers for single-threaded programs: wait for the next frame (std::nullopt: the peer closed, or the time
  // is over), wait until everything is sent (false: closed or time over).
  std::optional<Frame> next(std::chrono::milliseconds timeout = std::chrono::milliseconds(-1));
  bool drain(std::chrono::milliseconds timeout = std::chrono::milliseconds(-1));

 private:
  struct Outgoing {
    std::string bytes;
    std::vector<UniqueFd> fds;
  };

  std::ptrdiff_t write_some();
  bool read_some(std::size_t& got);
  bool take_frame(Frame& frame);

  UniqueFd fd_;
  std::deque<Outgoing> out_;
  std::size_t offset_ = 0;  // bytes of out_.front() already written
  std::size_t backlog_ = 0;
  std::string in_;
  std::size_t in_begin_ = 0;  // bytes of in_ already handed over
  std::deque<UniqueFd> in_fds_;
  std::deque<Frame> ready_;  // complete frames that next() has not handed over
  bool peer_closed_ = false;
};

}  // namespace dtrain
