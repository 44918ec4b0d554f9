// SPDX-License-Identifier: Apache-2.0
#include "core/launch/log_relay.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <vector>

namespace dtrain {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> split(const std::vector<std::string>& pieces) {
  std::vector<std::string> lines;
  const auto take = [&](std::string_view line) { lines.emplace_back(line); };
  LineSplitter splitter;
  for (const auto& piece : pieces) splitter.add(piece, take);
  splitter.finish(take);
  return lines;
}

TEST(LineSplitter, JoinsWhatCameInPieces) {
  EXPECT_THAT(split({"a", "b\nc\n", "\n", "d"}), ElementsAre("ab\n", "c\n", "\n", "d\n"));
  EXPECT_THAT(split({}), ElementsAre());
}

TEST(LineSplitter, CutsAnEndlessLine) {
  const std::size_t max = LineSplitter::kMaxLine;
  const auto lines = split({std::string(max, 'x'), std::string(max + 5, 'x') + "\n"});
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[0], std::string(max, 'x') + "\n");
  EXPECT_EQ(lines[1], std::string(max, 'x') + "\n");
  EXPECT_EQ(lines[2], std::string(5, 'x') + "\n");
}

TEST(LogRelay, TagsLinesAndRemembersTheLast) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  std::string seen;
  LogRelay relay("rank 2", UniqueFd(ends[0]), [&](std::string_view line) { seen += line; });
  const UniqueFd writer(ends[1]);
  ASSERT_GT(::write(writer.get(), "one\ntwo\n\n  \nthr", 15), 0);
  EXPECT_TRUE(relay.read());
  EXPECT_EQ(seen, "[rank 2] one\n[rank 2] two\n[rank 2] \n[rank 2]   \n");
  EXPECT_EQ(relay.last_line(), "two");
  relay.finish();  // although the other end is still open
  EXPECT_EQ(relay.last_line(), "thr");
  EXPECT_FALSE(relay.open());
}

}  // namespace
}  // namespace dtrain
