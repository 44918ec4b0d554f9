// SPDX-License-Identifier: Apache-2.0
#include "core/observe/console.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>

#include "core/base/unique_fd.h"

namespace dtrain {
namespace {

class ConsoleTest : public ::testing::Test {
 protected:
  ConsoleTest() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("pipe2");
    reader_.reset(ends[0]);
    writer_.reset(ends[1]);
    ::fcntl(reader_.get(), F_SETFL, O_NONBLOCK);
  }

  std::string taken() {
    std::string out;
    char buffer[8192];
    for (ssize_t n; (n = ::read(reader_.get(), buffer, sizeof buffer)) > 0;)
      out.append(buffer, static_cast<std::size_t>(n));
    return out;
  }

  UniqueFd reader_, writer_;
};

TEST_F(ConsoleTest, PlainLinesWithoutATerminal) {
  Console console(writer_.get());
  EXPECT_FALSE(console.terminal());
  console.live("never seen");
  console.lines("a\n");
  console.end_live();
  EXPECT_EQ(taken(), "a\n");
}

TEST_F(ConsoleTest, TheLiveLineStaysBelowTheOthers) {
  Console console(writer_.get(), true);
  console.live("step 1");
  EXPECT_EQ(taken(), "step 1");
  console.live("step 2");
  EXPECT_EQ(taken(), "\r\x1b[Kstep 2");
  console.lines("a line\n");
  EXPECT_EQ(taken(), "\r\x1b[Ka line\nstep 2");
  console.end_live();
  EXPECT_EQ(taken(), "\n");
  console.lines("more\n");
  EXPECT_EQ(taken(), "more\n");
}

TEST_F(ConsoleTest, ALongLiveLineIsCutBetweenCharacters) {
  Console console(writer_.get(), true);  // a pipe has no width: 80
  std::string text;
  for (int i = 0; i < 100; ++i) text += "ä";
  console.live(text);
  EXPECT_EQ(taken(), text.substr(0, 2 * 79));
}

TEST_F(ConsoleTest, AFullPipeIsWaitedForWithoutBlocking) {
  Console console(writer_.get(), true);
  std::string all;
  while (console.blocked() < 0) {
    all += std::string(999, 'x') + "\n";
    console.lines(std::string(999, 'x') + "\n");
  }
  EXPECT_EQ(console.blocked(), writer_.get());
  console.live("newest");
  std::string seen;
  while (console.blocked() >= 0 || seen.size() < all.size()) {
    seen += taken();
    console.pump();
  }
  seen += taken();
  EXPECT_EQ(seen, all + "newest");
}

TEST_F(ConsoleTest, OutputForNobodyIsDropped) {
  ::signal(SIGPIPE, SIG_IGN);
  Console console(writer_.get());
  reader_.reset();
  console.lines("a\n");
  EXPECT_EQ(console.blocked(), -1);
}

}  // namespace
}  // namespace dtrain
