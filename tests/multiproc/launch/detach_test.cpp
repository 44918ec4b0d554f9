// SPDX-License-Identifier: Apache-2.0
// Runs without a client, their registry, and runs without any other process.
#include <gmock/gmock.h>

#include <csignal>
#include <cstdlib>
#include <thread>

#include "core/launch/control_port.h"
#include "core/launch/registry.h"
#include "tests/multiproc/launch/fixture.h"

namespace dtrain::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

class DetachTest : public LaunchTest {
 protected:
  DetachTest() { ::setenv("XDG_RUNTIME_DIR", dir_.c_str(), 1); }  // as the runs have it
  ~DetachTest() override { ::unsetenv("XDG_RUNTIME_DIR"); }
};

TEST_F(DetachTest, ADetachedRunGoesOnIsFoundAndStops) {
  FakeRun run(dir_, {.plan = R"({"steps": 100000})", .mode = "detach"});
  EXPECT_EQ(run.wait(), 0) << run.output();
  const auto runs = running_runs();
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].run_dir, run.outcome().run_dir);
  EXPECT_EQ(runs[0].ranks, 3);

  const auto found = find_run(runs[0].run_dir);
  auto status = ask_status(found, 5s);
  for (int attempt = 0; attempt < 200 && status && status->workers.at(0).step < 1; ++attempt) {
    std::this_thread::sleep_for(10ms);
    status = ask_status(found, 5s);
  }
  ASSERT_TRUE(status.has_value());
  EXPECT_EQ(status->state, "running");
  EXPECT_EQ(status->workers.size(), 3u);
  EXPECT_GE(status->workers[2].step, 0);
  EXPECT_EQ(status->total_steps, 100000);

  EXPECT_TRUE(ask_stop(found, SIGTERM, 10s));
  EXPECT_TRUE(run.gone_within(1s));
  EXPECT_THAT(running_runs(), IsEmpty());
  EXPECT_EQ(events_of(found.run_dir, "run_end").at(0).at("exit_code"), 143);
  EXPECT_NE(read_file(found.run_dir + "/saved"), "");
}

TEST_F(DetachTest, AnErrorBeforeTheRanksStartIsTheClientsExitCode) {
  FakeRun run(dir_, {.plan = R"({"prepare": "throw"})", .mode = "detach"});
  EXPECT_EQ(run.wait(), 2);
  EXPECT_TRUE(run.gone_within(1s));
}

TEST_F(DetachTest, AnEntryOfAKilledAgentIsForgotten) {
  FakeRun run(dir_, {.plan = R"({"steps": 100000})", .mode = "detach"});
  EXPECT_EQ(run.wait(), 0);
  ASSERT_EQ(running_runs().size(), 1u);
  ::kill(running_runs()[0].agent.pid, SIGKILL);
  EXPECT_TRUE(run.gone_within(5s));
  EXPECT_THAT(running_runs(), IsEmpty());
}

TEST_F(DetachTest, AnUnknownRunIsAUserErrorThatListsTheOthers) {
  try {
    find_run("no-such-run");
    FAIL() << "found";
  } catch (const UserError& e) {
    EXPECT_EQ(e.message(), "no running run 'no-such-run'");
    EXPECT_EQ(e.hint(), "none is running");
    EXPECT_EQ(e.exit_code(), 2);
  }
}

TEST_F(LaunchTest, InProcessRunsOneRankWithoutAnotherProcess) {
  FakeRun run(dir_, {.plan = R"({"steps": 3, "step_ms": 100})", .ranks = 1, .mode = "in-process"});
  ASSERT_TRUE(run.wait_for("report: "));
  EXPECT_EQ(run.processes(), std::vector<pid_t>{run.client()});
  EXPECT_EQ(run.wait(), 0) << run.output();
  EXPECT_EQ(read_file(run.outcome().run_dir + "/saved"), "3\n");
  EXPECT_EQ(events_of(run.outcome().run_dir, "save").size(), 1u);
}

TEST_F(LaunchTest, InProcessStopsAtASignal) {
  FakeRun run(dir_, {.plan = R"({"steps": 100000})", .ranks = 1, .mode = "in-process"});
  ASSERT_TRUE(run.wait_for("report: "));
  run.signal(SIGINT);
  EXPECT_EQ(run.wait(), 130) << run.output();
  EXPECT_NE(read_file(run.outcome().run_dir + "/saved"), "");
}

TEST_F(LaunchTest, InProcessReportsErrorsAsRanksDo) {
  FakeRun run(
      dir_,
      {.plan = R"({"steps": 10, "fail": {"rank": 0, "step": 2, "how": "user"}})", .ranks = 1, .mode = "in-process"});
  EXPECT_EQ(run.wait(), 2) << run.output();
  EXPECT_THAT(run.outcome().message, HasSubstr("in phase forward, step 2; last words: sample 7 is broken"));
}

}  // namespace
}  // namespace dtrain::testing
