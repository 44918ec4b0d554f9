// SPDX-License-Identifier: Apache-2.0
// What goes wrong before a worker exists: exit code, message, and nothing left.
#include <gmock/gmock.h>

#include <csignal>
#include <fstream>

#include "core/base/process.h"
#include "tests/multiproc/launch/fixture.h"

namespace dtrain::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

struct PrepareCase {
  const char* how;
  int exit_code;
  const char* message;
};

class PrepareTest : public LaunchTest, public ::testing::WithParamInterface<PrepareCase> {};

TEST_P(PrepareTest, EndsWithItsMessageAndLeavesNothing) {
  const auto& c = GetParam();
  FakeRun run(dir_, {.plan = std::string(R"({"prepare": ")") + c.how + "\"}"});
  EXPECT_EQ(run.wait(), c.exit_code) << run.output();
  EXPECT_THAT(run.outcome().message, StartsWith(c.message));
  EXPECT_EQ(run.outcome().run_dir, "");
  EXPECT_FALSE(std::filesystem::exists(dir_ / "runs"));
  EXPECT_THAT(run.processes(), IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(
    B68, PrepareTest,
    ::testing::Values(
        PrepareCase{"throw", 2, "the data is not there"},
        PrepareCase{"crash", 1, "the host process was killed by signal 11 (SIGSEGV) while it prepared the run"},
        PrepareCase{"crash_loading", 2,
                    "plugin /somewhere/bad.so crashed while it was being loaded: the host process was killed by "
                    "signal 11 (SIGSEGV)"},
        PrepareCase{"exit_loading", 2,
                    "plugin /somewhere/bad.so crashed while it was being loaded: the host process ended with "
                    "exit code 3"}),
    [](const auto& test) { return std::string(test.param.how); });

TEST_F(LaunchTest, AUserErrorKeepsPlaceAndHint) {
  FakeRun run(dir_, {.plan = R"({"prepare": "throw"})"});
  EXPECT_EQ(run.wait(), 2);
  EXPECT_EQ(run.outcome().place, "recipe.toml:3:7");
  EXPECT_EQ(run.outcome().hint, "look for it");
}

TEST_F(LaunchTest, AHostWithThreadsIsRefused) {
  FakeRun run(dir_, {.plan = R"({"prepare": "thread"})"});
  EXPECT_EQ(run.wait(), 2) << run.output();
  EXPECT_EQ(run.outcome().message,
            "the host process has 2 threads after preparing (dtrain-host, dtrain-host); workers cannot be forked from it");
}

TEST_F(LaunchTest, AMissingRuntimeIsNamed) {
  FakeRun run(dir_, {.environment = {{"DTRAIN_RUNTIME", "/nowhere/runtime.so"}}});
  EXPECT_EQ(run.wait(), 2) << run.output();
  EXPECT_THAT(run.outcome().message, StartsWith("cannot load dtrain's runtime /nowhere/runtime.so: "));
}

TEST_F(LaunchTest, WhatPrepareSaysIsShownAndKept) {
  FakeRun run(dir_, {.plan = R"({"prepare": "chatter", "steps": 1})"});
  EXPECT_EQ(run.wait(), 0);
  EXPECT_THAT(run.output(), HasSubstr("[host] said while preparing\n"));
  EXPECT_EQ(read_file(run.outcome().run_dir + "/logs/host.log"), "said while preparing\n");
}

TEST_F(LaunchTest, ThreadVariablesOfTheEnvironmentAreIgnoredWithANote) {
  FakeRun run(dir_,
              {.plan = R"({"steps": 1, "say_threads": true})", .ranks = 1, .environment = {{"OMP_NUM_THREADS", "8"}}});
  EXPECT_EQ(run.wait(), 0);
  EXPECT_THAT(run.output(), HasSubstr("note: OMP_NUM_THREADS=8 is ignored: threads per rank is train.threads (1)\n"));
  EXPECT_THAT(run.output(), Not(HasSubstr("MKL_NUM_THREADS")));
  EXPECT_THAT(run.output(), HasSubstr("[rank 0] OMP_NUM_THREADS is 1\n"));
}

TEST_F(LaunchTest, ARunDirectoryInUseIsRefusedAndStaysAsItIs) {
  const auto run_dir = (dir_ / "run").string();
  FakeRun first(dir_, {.plan = R"({"steps": 100000})", .run_dir = run_dir});
  ASSERT_TRUE(first.wait_for("report: "));
  FakeRun second(dir_, {.plan = R"({"steps": 1})", .run_dir = run_dir});
  EXPECT_EQ(second.wait(), 2) << second.output();
  EXPECT_EQ(second.outcome().message,
            "run directory " + run_dir + " is in use by process " + std::to_string(first.agent()));
  EXPECT_EQ(second.outcome().hint, "choose another with --run-dir, or end that run first: dtrain stop " + run_dir);
  first.signal(SIGTERM);
  EXPECT_EQ(first.wait(), 143);
  EXPECT_EQ(events_of(run_dir, "membership").size(), 1u);
}

TEST_F(LaunchTest, ARunDirectoryThatIsAFileIsRefused) {
  std::ofstream(dir_ / "file") << "x";
  FakeRun run(dir_, {.run_dir = (dir_ / "file").string()});
  EXPECT_EQ(run.wait(), 2);
  EXPECT_EQ(run.outcome().message, "cannot use run directory " + (dir_ / "file").string() + ": Not a directory");
}

// B50: neither names nor ports nor locks collide.
TEST_F(LaunchTest, TwoRunsAtOnceWithDefaultSettings) {
  FakeRun first(dir_, {.plan = R"({"steps": 100})"});
  FakeRun second(dir_, {.plan = R"({"steps": 100})"});
  EXPECT_EQ(first.wait(), 0) << first.output();
  EXPECT_EQ(second.wait(), 0) << second.output();
  EXPECT_NE(first.outcome().run_dir, second.outcome().run_dir);
  EXPECT_EQ(read_file(first.outcome().run_dir + "/saved"), "100\n");
  EXPECT_EQ(read_file(second.outcome().run_dir + "/saved"), "100\n");
}

}  // namespace
}  // namespace dtrain::testing
