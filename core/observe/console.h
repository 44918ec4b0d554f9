// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <string>
#include <string_view>

namespace dtrain {

// What a user reads: whole lines and, on a terminal, one live line below them that is drawn again and again. Never
// waits for a reader that does not read: what is not taken is kept until pump(). One thread. The descriptor stays the
// caller's and stays blocking, since others may write to it too.
class Console {
 public:
  explicit Console(int fd);  // asks the descriptor whether it is a terminal
  Console(int fd, bool terminal) : fd_(fd), terminal_(terminal) {}

  bool terminal() const { return terminal_; }
  int width() const;  // columns of the terminal now; 80 when it does not say

  void lines(std::string_view text);  // ends with a newline
  void live(std::string_view text);   // without one; cut to the width; nothing when this is no terminal
  bool has_live() const { return !live_.empty(); }
  void end_live();  // what the live line shows last stays

  // The descriptor while output waits for it, else -1.
  int blocked() const { return out_.empty() ? -1 : fd_; }
  void pump();

 private:
  void put(std::string_view text);
  void draw();

  int fd_;
  bool terminal_;
  std::string out_;
  std::string live_;
  bool drawn_ = false;  // the live line stands on the screen
  bool stale_ = false;  // it has to be drawn when the output is through
};

}  // namespace dtrain
