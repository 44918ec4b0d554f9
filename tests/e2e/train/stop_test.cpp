// SPDX-License-Identifier: Apache-2.0
//
// A stop signal ends all ranks after the same step with one checkpoint.
#include "tests/e2e/train/fixture.h"

namespace dtrain::testing_support {
namespace {

TEST_F(TrainTest, SigtermSavesAndAResumeEndsWithTheSameHash) {
  const std::vector<std::string> sets = {"train.steps=400", "checkpoint.every=0"};
  Command command(folder_.path(), run_arguments(recipe("synthetic_mlp"), "run", 2, sets));
  ASSERT_TRUE(command.wait_for_error("step "));
  ::kill(command.pid(), SIGTERM);
  const auto stopped = command.wait();
  EXPECT_EQ(stopped.exit_code, 143) << stopped.err;
  const auto list = run_dtrain(folder_.path(), {"ckpt", "ls", path("run")});
  EXPECT_EQ(list.exit_code, 0) << list.out << list.err;

  const auto resumed = train(recipe("synthetic_mlp"), "run", 3, sets);
  ASSERT_EQ(resumed.exit_code, 0) << resumed.err;
  ASSERT_EQ(train(recipe("synthetic_mlp"), "whole", 1, sets).exit_code, 0);
  EXPECT_EQ(hash("run"), hash("whole"));
}

TEST_F(TrainTest, ALostRankIsNamed) {
  const auto result = train(recipe("synthetic_mlp"), "run", 3, {"train.steps=8"}, "train.reduce:step=5:rank=2=kill");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_NE(result.err.find("rank 2"), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("SIGKILL"), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("step 5"), std::string::npos) << result.err;
}

}  // namespace
}  // namespace dtrain::testing_support
