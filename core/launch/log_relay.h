// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <functional>
#include <string>
#include <string_view>

#include "core/base/line_file.h"
#include "core/base/unique_fd.h"

namespace dtrain {

// Cuts a stream of bytes into whole lines. A line longer than kMaxLine is given out in pieces, each a line, so that
// memory stays bounded whatever comes.
class LineSplitter {
 public:
  static constexpr std::size_t kMaxLine = std::size_t{64} << 10;
  using Take = std::function<void(std::string_view line)>;  // ends with a newline

  void add(std::string_view bytes, const Take& take);
  void finish(const Take& take);  // what stands after the last newline becomes a line

 private:
  std::string partial_;
};

// The output of one process: a non-blocking pipe on the agent's side, whole lines into a file and, tagged, to a
// listener.
class LogRelay {
 public:
  using Listener = std::function<void(std::string_view tagged_lines)>;  // some lines at a time

  LogRelay(std::string tag, UniqueFd pipe, Listener listener);

  int fd() const { return pipe_.get(); }
  bool open() const { return pipe_.valid(); }

  // What came before there was a file is written to it first.
  void attach(LineFile file);

  // Reads at most 256 KiB. False at the end of the stream.
  bool read();

  // Takes what is in the pipe now, without waiting for others that may still hold its other end, and closes it.
  void finish();

  // The last line that is not blank, at most 400 bytes; empty when there was none.
  const std::string& last_line() const { return last_line_; }

 private:
  static constexpr std::size_t kMaxHeld = std::size_t{256} << 10;

  bool read_some(std::size_t budget);
  void take(std::string_view line);
  void write(std::string_view line);
  void tell();

  std::string tag_;
  UniqueFd pipe_;
  Listener listener_;
  LineSplitter splitter_;
  LineFile file_;
  std::string held_;   // lines before there is a file
  std::string batch_;  // tagged lines for the listener
  std::string last_line_;
};

}  // namespace dtrain
