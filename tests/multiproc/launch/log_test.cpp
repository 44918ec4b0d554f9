// SPDX-License-Identifier: Apache-2.0
// Output of the ranks: whole lines, all of them in the files, and nobody waits for a client that does not read.
#include <gmock/gmock.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <thread>

#include "tests/multiproc/launch/fixture.h"

namespace dtrain::testing {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

std::size_t lines_of(const std::string& text, std::string_view prefix) {
  std::size_t count = 0;
  for (std::size_t at = 0; at < text.size(); at = text.find('\n', at) + 1)
    count += text.compare(at, prefix.size(), prefix) == 0;
  return count;
}

long resident_kib(pid_t pid) {
  std::ifstream in("/proc/" + std::to_string(pid) + "/statm");
  long size = 0, resident = 0;
  in >> size >> resident;
  return resident * (::sysconf(_SC_PAGESIZE) / 1024);
}

TEST_F(LaunchTest, TenMegabytesOfLinesArriveWholeAndInOrder) {
  constexpr int kLines = 50'000;  // of about 105 bytes, from each of two ranks
  FakeRun run(dir_, {.plan = R"({"steps": 1, "lines": 50000})", .ranks = 2});
  EXPECT_EQ(run.wait(60s), 0);
  for (const int rank : {0, 1}) {
    const auto who = std::to_string(rank);
    EXPECT_EQ(lines_of(run.output(), "[rank " + who + "] line "), static_cast<std::size_t>(kLines));
    const auto file = read_file(run.outcome().run_dir + "/logs/rank-" + who + ".log");
    EXPECT_EQ(lines_of(file, "line "), static_cast<std::size_t>(kLines));
    EXPECT_THAT(file, EndsWith("line 49999 of rank " + who + " " + std::string(80, 'x') + "\n"));
  }
}

TEST_F(LaunchTest, AFloodWithoutANewlineIsCutIntoLines) {
  FakeRun run(dir_, {.plan = R"({"steps": 1, "flood": 3000000})", .ranks = 1});
  EXPECT_EQ(run.wait(60s), 0);
  const auto file = read_file(run.outcome().run_dir + "/logs/rank-0.log");
  EXPECT_EQ(std::count(file.begin(), file.end(), 'f'), 3'000'000);
  EXPECT_THAT(file, EndsWith("f\n"));  // the last, unfinished line is kept
  EXPECT_LT(std::count(file.begin(), file.end(), '\n'), 60);
}

TEST_F(LaunchTest, AStoppedClientHoldsUpNeitherRanksNorMemory) {
  FakeRun run(dir_, {.plan = R"({"steps": 400, "step_ms": 5, "lines": 200000})", .ranks = 2});
  const pid_t agent = run.agent();
  const auto run_dir = run.run_dir();
  run.signal(SIGSTOP);
  // The ranks come to their end although nobody reads: some 40 MB of lines.
  const auto saved = [&] { return std::filesystem::exists(run_dir + "/saved"); };
  const auto deadline = std::chrono::steady_clock::now() + 60s;
  while (!saved() && std::chrono::steady_clock::now() < deadline) std::this_thread::sleep_for(20ms);
  EXPECT_TRUE(saved());
  EXPECT_LT(resident_kib(agent), 40 * 1024);
  run.signal(SIGCONT);
  EXPECT_EQ(run.wait(60s), 0);
  EXPECT_THAT(run.output(), HasSubstr("were not shown because nobody read them"));
  EXPECT_EQ(lines_of(read_file(run_dir + "/logs/rank-1.log"), "line "), 200'000u);
}

}  // namespace
}  // namespace dtrain::testing
