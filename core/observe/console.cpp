// SPDX-License-Identifier: Apache-2.0
#include "core/observe/console.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace dtrain {
namespace {

constexpr std::string_view kErase = "\r\x1b[K";
constexpr std::size_t kChunk = 4096;  // PIPE_BUF: what a pipe that is ready takes without waiting

// Cuts at `columns` characters, not in the middle of one.
std::string_view cut(std::string_view text, int columns) {
  int seen = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool begins = (static_cast<unsigned char>(text[i]) & 0xc0) != 0x80;
    if (begins && seen++ == columns) return text.substr(0, i);
  }
  return text;
}

}  // namespace

Console::Console(int fd) : fd_(fd), terminal_(::isatty(fd) == 1) {}

int Console::width() const {
  winsize size{};
  return ::ioctl(fd_, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

void Console::lines(std::string_view text) {
  if (drawn_) put(kErase);
  drawn_ = false;
  put(text);
  stale_ = !live_.empty();
  pump();
}

void Console::live(std::string_view text) {
  if (!terminal_) return;
  live_ = text;
  stale_ = true;
  pump();
}

void Console::end_live() {
  if (stale_ && out_.empty()) draw();
  if (drawn_) put("\n");
  live_.clear();
  drawn_ = stale_ = false;
  pump();
}

void Console::put(std::string_view text) {
  out_.append(text);
}

void Console::draw() {
  if (drawn_) put(kErase);
  put(cut(live_, width() - 1));
  drawn_ = true;
  stale_ = false;
}

void Console::pump() {
  if (stale_ && out_.empty()) draw();
  while (!out_.empty()) {
    pollfd entry{fd_, POLLOUT, 0};
    if (::poll(&entry, 1, 0) <= 0) return;
    const auto n = ::write(fd_, out_.data(), std::min(out_.size(), kChunk));
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) return;
    if (n < 0) {
      out_.clear();  // nobody will ever read it
      return;
    }
    out_.erase(0, static_cast<std::size_t>(n));
    if (stale_ && out_.empty()) draw();
  }
}

}  // namespace dtrain
