// SPDX-License-Identifier: Apache-2.0
// How runs end: exit codes, messages, what is left.
#include <gmock/gmock.h>

#include <csignal>

#include "tests/multiproc/launch/fixture.h"

namespace dtrain::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST_F(LaunchTest, RanksRunToTheEnd) {
  FakeRun run(dir_, {.plan = R"({"steps": 5})"});
  EXPECT_EQ(run.wait(), 0) << run.output();
  const auto dir = run.outcome().run_dir;
  EXPECT_EQ(read_file(dir + "/saved"), "5\n");
  EXPECT_THAT(run.output(), HasSubstr("report: {\"event\":\"step\""));
  EXPECT_EQ(events_of(dir, "membership").size(), 1u);
  EXPECT_EQ(events_of(dir, "save").size(), 1u);
  EXPECT_EQ(events_of(dir, "run_end").at(0).at("exit_code"), 0);
  EXPECT_EQ(events_of(dir, "run_end").at(0).at("format"), 1);
  EXPECT_THAT(run.processes(), IsEmpty());
}

struct FailureCase {
  const char* how;
  int exit_code;
  const char* words;
};

class Failures : public LaunchTest, public ::testing::WithParamInterface<FailureCase> {};

TEST_P(Failures, TheFirstFailingRankIsNamed) {
  const auto& c = GetParam();
  FakeRun run(dir_,
              {.plan = std::string(R"({"steps": 100000, "fail": {"rank": 2, "step": 3, "how": ")") + c.how + "\"}}"});
  EXPECT_EQ(run.wait(), c.exit_code) << run.output();
  const auto outcome = run.outcome();
  ASSERT_TRUE(outcome.failure.has_value()) << run.output();
  EXPECT_EQ(outcome.failure->rank, 2);
  EXPECT_EQ(outcome.failure->step, 3);
  EXPECT_THAT(outcome.message, HasSubstr("rank 2 on "));
  EXPECT_THAT(outcome.message, HasSubstr(c.words));
  EXPECT_EQ(events_of(outcome.run_dir, "fault").at(0).at("rank"), 2);
  EXPECT_THAT(run.processes(), IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(
    B55, Failures,
    ::testing::Values(FailureCase{"exit", 1, "ended with exit code 17 in phase forward, step 3"},
                      FailureCase{"abort", 1, "was killed by signal 6 (SIGABRT) in phase forward, step 3"},
                      FailureCase{"kill", 1, "was killed by signal 9 (SIGKILL) in phase forward, step 3"},
                      FailureCase{"user", 2, "last words: sample 7 is broken"},
                      FailureCase{"plugin", 1, "last words: plugin fault"},
                      FailureCase{"recoverable", 1, "last words: peer is gone"},
                      FailureCase{"rendezvous", 1, "last words: rendezvous timed out"}),
    [](const auto& test) { return test.param.how; });

}  // namespace
}  // namespace dtrain::testing
