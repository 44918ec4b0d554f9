// SPDX-License-Identifier: Apache-2.0
//
// Whatever dies wherever, a resume at any rank count ends with the hash of the run that nothing happened to.
#include "tests/e2e/train/fixture.h"

namespace dtrain::testing_support {
namespace {

const std::vector<std::string> kSets = {"train.steps=12", "checkpoint.every=4", "checkpoint.keep_last=1"};

class FaultTest : public TrainTest, public testing::WithParamInterface<const char*> {};

TEST_P(FaultTest, ResumesToTheSameHash) {
  ASSERT_EQ(train(recipe("synthetic_mlp"), "whole", 1, kSets).exit_code, 0);
  const auto killed = train(recipe("synthetic_mlp"), "run", 2, kSets, GetParam());
  ASSERT_NE(killed.exit_code, 0) << "the fault point was not reached";
  const auto resumed = train(recipe("synthetic_mlp"), "run", 3, kSets);
  ASSERT_EQ(resumed.exit_code, 0) << resumed.err;
  EXPECT_EQ(hash("run"), hash("whole"));
  const auto check = run_dtrain(folder_.path(), {"ledger", "check", path("run")});
  EXPECT_EQ(check.exit_code, 0) << check.out << check.err;
}

INSTANTIATE_TEST_SUITE_P(KilledAt, FaultTest,
                         testing::Values("train.step:step=6:rank=1=kill", "train.reduce:step=6:rank=0=kill",
                                         "train.commit:step=6:rank=1=kill", "train.committed:step=6:rank=0=kill",
                                         "train.applied:step=6:rank=1=kill", "train.step:step=2=killgroup",
                                         "ckpt.shard.begin:nth=2=kill", "ckpt.shard.middle:nth=2=kill",
                                         "ckpt.shard.end:nth=2=kill", "ckpt.manifest:nth=2=kill",
                                         "ckpt.publish.before:nth=2=kill", "ckpt.publish.after:nth=2=kill",
                                         "ckpt.prune:nth=1=kill"));

TEST_F(TrainTest, AFinishedRunIsLeftAlone) {
  ASSERT_EQ(train(recipe("synthetic_mlp"), "run", 2, kSets).exit_code, 0);
  const auto before = hash("run");
  const auto metrics = read_file(folder_.path() / "run/metrics.jsonl");
  const auto again = train(recipe("synthetic_mlp"), "run", 1, kSets);
  EXPECT_EQ(again.exit_code, 0) << again.err;
  EXPECT_EQ(hash("run"), before);
  EXPECT_EQ(read_file(folder_.path() / "run/metrics.jsonl"), metrics);
}

TEST_F(TrainTest, MetricsHoldEveryStepOnceAfterAResume) {
  ASSERT_NE(train(recipe("synthetic_mlp"), "run", 2, kSets, "train.step:step=7:rank=0=kill").exit_code, 0);
  ASSERT_EQ(train(recipe("synthetic_mlp"), "run", 2, kSets).exit_code, 0);
  const auto metrics = read_file(folder_.path() / "run/metrics.jsonl");
  for (int step = 1; step <= 12; ++step) {
    const auto key = "\"step\":" + std::to_string(step) + ",";
    const auto first = metrics.find(key);
    ASSERT_NE(first, std::string::npos) << key;
    EXPECT_EQ(metrics.find(key, first + 1), std::string::npos) << key;
  }
}

TEST_F(TrainTest, ADifferentRecipeIsRefused) {
  ASSERT_EQ(train(recipe("synthetic_mlp"), "run", 1, {"train.steps=2"}).exit_code, 0);
  const auto before = hash("run");
  const auto other = train(recipe("synthetic_mlp"), "run", 1, {"train.steps=2", "run.seed=8"});
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_NE(other.err.find("seed"), std::string::npos) << other.err;
  const auto longer = train(recipe("synthetic_mlp"), "run", 1, {"train.steps=2", "optimizer.lr=0.2"});
  EXPECT_EQ(longer.exit_code, 2);
  EXPECT_NE(longer.err.find("--allow-drift"), std::string::npos) << longer.err;
  EXPECT_EQ(hash("run"), before);
}

}  // namespace
}  // namespace dtrain::testing_support
