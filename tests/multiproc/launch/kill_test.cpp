// SPDX-License-Identifier: Apache-2.0
// SIGKILL of any process of a run leaves nothing behind, and the next run starts at once (B52).
#include <gmock/gmock.h>

#include <csignal>
#include <thread>

#include "core/base/process.h"
#include "tests/multiproc/launch/fixture.h"

namespace dtrain::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Each rank has a child of its own; rank 1 hangs, so nobody ends by himself.
constexpr const char* kHelpers = R"({"steps": 100000, "helper": true})";

class KillTest : public LaunchTest, public ::testing::WithParamInterface<const char*> {};

TEST_P(KillTest, LeavesNoProcessAndTheRunDirectoryIsFree) {
  const std::string target = GetParam();
  const auto run_dir = (dir_ / "run").string();
  FakeRun run(dir_, {.plan = kHelpers, .run_dir = run_dir});
  ASSERT_TRUE(run.wait_for("report: "));
  EXPECT_THAT(zombies_of(run.agent()), IsEmpty());
  EXPECT_THAT(zombies_of(run.host()), IsEmpty());
  EXPECT_GE(run.processes().size(), 9u);  // client, agent, host, three workers, three helpers
  const pid_t pid = target == "client"  ? run.client()
                    : target == "agent" ? run.agent()
                    : target == "host"  ? run.host()
                                        : run.workers().at(1);
  ASSERT_EQ(::kill(pid, SIGKILL), 0);
  const auto begin = std::chrono::steady_clock::now();
  const int code = run.wait();
  EXPECT_TRUE(run.gone_within(
      5s - std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - begin)))
      << ::testing::PrintToString(run.processes());
  EXPECT_EQ(code, target == "client" ? 1009 : 1) << run.output();

  FakeRun next(dir_, {.plan = R"({"steps": 1})", .run_dir = run_dir});
  EXPECT_EQ(next.wait(), 0) << next.output();
}

INSTANTIATE_TEST_SUITE_P(B52, KillTest, ::testing::Values("client", "agent", "host", "rank1"),
                         [](const auto& test) { return std::string(test.param); });

TEST_F(LaunchTest, AKilledAgentIsNamed) {
  FakeRun run(dir_, {.plan = kHelpers});
  ASSERT_TRUE(run.wait_for("report: "));
  ::kill(run.agent(), SIGKILL);
  EXPECT_EQ(run.wait(), 1);
  EXPECT_THAT(run.outcome().message,
              "the agent process on " + host_name() + " was killed by signal 9 (SIGKILL); the run was ended");
}

TEST_F(LaunchTest, AKilledHostIsNamedAfterASave) {
  FakeRun run(dir_, {.plan = R"({"steps": 100000})"});
  ASSERT_TRUE(run.wait_for("report: "));
  ::kill(run.host(), SIGKILL);
  EXPECT_EQ(run.wait(), 1);
  EXPECT_EQ(run.outcome().message, "the host process on " + host_name() + " was killed by signal 9 (SIGKILL)");
  EXPECT_NE(read_file(run.outcome().run_dir + "/saved"), "");
}

TEST_F(LaunchTest, ARankThatHangsAfterAnotherFailedIsKilled) {
  FakeRun run(dir_,
              {.plan = R"({"steps": 100000, "ignore_stop": true, "fail": {"rank": 0, "step": 2, "how": "hang"}})"});
  ASSERT_TRUE(run.wait_for("report: "));
  const auto workers = run.workers();
  ::kill(workers.at(2), SIGKILL);
  EXPECT_EQ(run.wait(), 1) << run.output();
  EXPECT_EQ(run.outcome().failure.value().rank, 2);
  EXPECT_THAT(run.outcome().message, HasSubstr("was killed by signal 9 (SIGKILL) in phase commit, step 2"));
  EXPECT_THAT(run.processes(), IsEmpty());
}

TEST_F(LaunchTest, DivergenceIsExitCode4) {
  FakeRun run(dir_, {.plan = R"({"steps": 10, "fail": {"rank": 0, "step": 3, "how": "diverge"}})", .ranks = 1});
  EXPECT_EQ(run.wait(), 4) << run.output();
  EXPECT_THAT(run.outcome().message, HasSubstr("last words: loss is NaN at step 3"));
  EXPECT_EQ(run.outcome().hint, "lower lr");
}

}  // namespace
}  // namespace dtrain::testing
