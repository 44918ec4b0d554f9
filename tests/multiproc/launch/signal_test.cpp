// SPDX-License-Identifier: Apache-2.0
// Stops: whoever gets a signal, all ranks end after the same step with one save (B54), and the exit code tells (B55).
#include <gmock/gmock.h>

#include <csignal>
#include <thread>

#include "tests/multiproc/launch/fixture.h"

namespace dtrain::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* kLong = R"({"steps": 100000, "step_ms": 5})";

// The step of the one save; all ranks have agreed on it, or the commit would have hung.
int saved_once(const std::string& run_dir) {
  const auto text = read_file(run_dir + "/saved");
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1) << text;
  return std::atoi(text.c_str());
}

class SignalTest : public LaunchTest {
 protected:
  void expect_stopped(FakeRun& run, int signal) {
    EXPECT_EQ(run.wait(), 128 + signal) << run.output();
    const auto outcome = run.outcome();
    EXPECT_EQ(outcome.signal, signal);
    EXPECT_FALSE(outcome.failure.has_value()) << run.output();
    const auto step = saved_once(outcome.run_dir);
    EXPECT_GT(step, 0);
    EXPECT_LT(step, 100000);
    EXPECT_EQ(events_of(outcome.run_dir, "stop").size(), 1u);
    EXPECT_THAT(run.processes(), IsEmpty());
  }
};

struct Target {
  const char* name;
  int signal;
};

class SignalAt : public SignalTest, public ::testing::WithParamInterface<Target> {};

TEST_P(SignalAt, StopsAllRanksAfterTheSameStepWithOneSave) {
  const std::string target = GetParam().name;
  FakeRun run(dir_, {.plan = kLong});
  ASSERT_TRUE(run.wait_for("report: "));
  const pid_t agent = run.agent();
  const pid_t pid = target == "client"         ? run.client()
                    : target == "agent"        ? agent
                    : target == "host"         ? run.host()
                    : target == "rank1"        ? run.workers().at(1)
                    : target == "client_group" ? -run.client()
                                               : -agent;
  ASSERT_EQ(::kill(pid, GetParam().signal), 0);
  expect_stopped(run, GetParam().signal);
}

INSTANTIATE_TEST_SUITE_P(B54, SignalAt,
                         ::testing::Values(Target{"client", SIGINT}, Target{"client", SIGTERM},
                                           Target{"client", SIGHUP}, Target{"agent", SIGTERM}, Target{"host", SIGTERM},
                                           Target{"rank1", SIGTERM}, Target{"rank1", SIGINT},
                                           Target{"client_group", SIGTERM}, Target{"run_group", SIGTERM},
                                           Target{"run_group", SIGINT}),
                         [](const auto& test) { return test.param.name + std::to_string(test.param.signal); });

TEST_F(SignalTest, ASignalDuringTheLastSaveLeavesOneSave) {
  FakeRun run(dir_, {.plan = R"({"steps": 3, "save_ms": 700})"});
  ASSERT_TRUE(run.wait_for("\"step\":2"));  // the last step: saving comes next
  ::kill(run.workers().at(0), SIGTERM);
  EXPECT_EQ(run.wait(), 143) << run.output();
  EXPECT_EQ(saved_once(run.outcome().run_dir), 3);
}

TEST_F(SignalTest, OneKeyPressThatArrivesTwiceIsOneStop) {
  FakeRun run(dir_, {.plan = kLong});
  ASSERT_TRUE(run.wait_for("report: "));
  run.signal(SIGINT);
  ::kill(-run.client(), SIGINT);
  expect_stopped(run, SIGINT);
}

TEST_F(SignalTest, ASecondSigintEndsTheRunAtOnce) {
  FakeRun run(dir_, {.plan = R"({"steps": 100000, "ignore_stop": true})"});
  ASSERT_TRUE(run.wait_for("report: "));
  run.signal(SIGINT);
  ASSERT_TRUE(run.wait_for("stopping after this step"));
  std::this_thread::sleep_for(200ms);  // longer than what counts as the same key press
  const auto begin = std::chrono::steady_clock::now();
  run.signal(SIGINT);
  EXPECT_EQ(run.wait(), 130) << run.output();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 2s);
  EXPECT_THAT(run.outcome().message, HasSubstr("second SIGINT"));
  EXPECT_THAT(run.processes(), IsEmpty());
}

TEST_F(SignalTest, ASecondSigintEndsARunWhoseAgentIsStopped) {
  FakeRun run(dir_, {.plan = kLong});
  ASSERT_TRUE(run.wait_for("report: "));
  ::kill(run.agent(), SIGSTOP);
  run.signal(SIGINT);
  std::this_thread::sleep_for(200ms);
  const auto begin = std::chrono::steady_clock::now();
  run.signal(SIGINT);
  EXPECT_EQ(run.wait(), 130) << run.output();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 3s);
  EXPECT_TRUE(run.gone_within(5s));
}

TEST_F(SignalTest, WhenTheGraceTimeIsOverRanksAreKilledAndTheMessageSaysSo) {
  FakeRun run(dir_, {.plan = R"({"steps": 100000, "ignore_stop": true})", .grace_s = 0.5});
  ASSERT_TRUE(run.wait_for("report: "));
  run.signal(SIGTERM);
  EXPECT_EQ(run.wait(), 143) << run.output();
  EXPECT_EQ(run.outcome().message,
            "stopped by signal 15 (SIGTERM); ranks 0, 1, 2 had to be killed, the grace time was over");
  EXPECT_THAT(run.processes(), IsEmpty());
}

TEST_F(SignalTest, InterruptingASlowPreparationLeavesNothing) {
  FakeRun run(dir_, {.plan = R"({"prepare": "sleep"})"});
  ASSERT_TRUE(run.wait_for("preparing slowly"));
  run.signal(SIGINT);
  EXPECT_EQ(run.wait(5s), 130) << run.output();
  EXPECT_THAT(run.processes(), IsEmpty());
  EXPECT_FALSE(std::filesystem::exists(dir_ / "runs"));
}

TEST_F(SignalTest, ATermToTheWholeGroupWhilePreparingIsAStop) {
  FakeRun run(dir_, {.plan = R"({"prepare": "sleep"})"});
  ASSERT_TRUE(run.wait_for("preparing slowly"));
  for (const pid_t pid : run.processes()) ::kill(pid, SIGTERM);
  EXPECT_EQ(run.wait(5s), 143) << run.output();
  EXPECT_THAT(run.processes(), IsEmpty());
}

TEST_F(SignalTest, AFailureWhileStoppingIsAFailure) {
  FakeRun run(dir_,
              {.plan = R"({"steps": 100000, "ignore_stop": true, "fail": {"rank": 1, "step": 100, "how": "plugin"}})"});
  ASSERT_TRUE(run.wait_for("report: "));
  run.signal(SIGTERM);
  EXPECT_EQ(run.wait(), 1) << run.output();
  EXPECT_EQ(run.outcome().failure.value().rank, 1);
}

}  // namespace
}  // namespace dtrain::testing
