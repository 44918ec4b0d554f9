// SPDX-License-Identifier: Apache-2.0
#include "core/launch/log_relay.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace dtrain {

void LineSplitter::add(std::string_view bytes, const Take& take) {
  while (!bytes.empty()) {
    const auto newline = bytes.find('\n');
    const auto room = kMaxLine - partial_.size();
    if (newline == std::string_view::npos || newline > room) {
      const auto part = std::min(newline == std::string_view::npos ? bytes.size() : newline, room);
      partial_.append(bytes.substr(0, part));
      bytes.remove_prefix(part);
      if (partial_.size() == kMaxLine) finish(take);
      continue;
    }
    if (partial_.empty()) {
      take(bytes.substr(0, newline + 1));
    } else {
      partial_.append(bytes.substr(0, newline + 1));
      take(partial_);
      partial_.clear();
    }
    bytes.remove_prefix(newline + 1);
  }
}

void LineSplitter::finish(const Take& take) {
  if (partial_.empty()) return;
  partial_ += '\n';
  take(partial_);
  partial_.clear();
}

LogRelay::LogRelay(std::string tag, UniqueFd pipe, Listener listener)
    : tag_(std::move(tag)), pipe_(std::move(pipe)), listener_(std::move(listener)) {
  ::fcntl(pipe_.get(), F_SETFL, ::fcntl(pipe_.get(), F_GETFL) | O_NONBLOCK);
}

void LogRelay::attach(LineFile file) {
  file_ = std::move(file);
  if (!held_.empty()) file_.append(held_);
  held_.clear();
}

void LogRelay::write(std::string_view line) {
  if (file_.open()) {
    file_.append(line);  // a full disk must not end the run for a log line; the checkpoint will tell
  } else if (held_.size() + line.size() <= kMaxHeld) {
    held_.append(line);
  }
}

void LogRelay::take(std::string_view line) {
  constexpr std::size_t kMaxLastLine = 400;
  write(line);
  const auto text = line.substr(0, line.size() - 1);
  if (text.find_first_not_of(" \t\r") != std::string_view::npos) last_line_.assign(text.substr(0, kMaxLastLine));
  batch_ += "[" + tag_ + "] ";
  batch_ += line;
}

void LogRelay::tell() {
  if (batch_.empty()) return;
  listener_(batch_);
  batch_.clear();
}

bool LogRelay::read_some(std::size_t budget) {
  std::array<char, 64 << 10> buffer;
  for (std::size_t total = 0; total < budget;) {
    const auto n = ::read(pipe_.get(), buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno == EAGAIN;
    if (n == 0) return false;
    total += static_cast<std::size_t>(n);
    splitter_.add({buffer.data(), static_cast<std::size_t>(n)}, [this](std::string_view line) { take(line); });
    tell();
  }
  return true;
}

bool LogRelay::read() {
  return read_some(std::size_t{256} << 10);
}

void LogRelay::finish() {
  if (!pipe_.valid()) return;
  read_some(std::size_t{1} << 20);  // the most that a pipe holds
  splitter_.finish([this](std::string_view line) { take(line); });
  tell();
  pipe_.reset();
}

}  // namespace dtrain
