// SPDX-License-Identifier: Apache-2.0
//
// A run is a pure function of its recipe: one hash, whatever the number of ranks.
#include <fstream>
#include <set>

#include "tests/e2e/train/fixture.h"

namespace dtrain::testing_support {
namespace {

TEST_F(TrainTest, OneHashOnOneToFourAndSevenRanks) {
  std::set<std::string> hashes;
  for (int ranks : {1, 2, 3, 4, 7}) {
    const auto run = "ranks" + std::to_string(ranks);
    const auto result = train(recipe("synthetic_mlp"), run, ranks, {"train.steps=17"});  // past a short last step
    ASSERT_EQ(result.exit_code, 0) << result.err;
    hashes.insert(hash(run));
  }
  EXPECT_EQ(hashes.size(), 1u);
}

TEST_F(TrainTest, ShortStepsAndUnevenLanesGiveTheSameHash) {
  // 40 samples in steps of 24: the second step of an epoch has 16 samples in 4 of 6 micro-batches.
  const std::vector<std::string> sets = {"train.steps=6", "train.global_batch_size=24", "train.lanes=5",
                                         "data.train=[{kind=\"synthetic\", samples=40, features=32, classes=10}]"};
  std::set<std::string> hashes;
  for (int ranks : {1, 2, 3, 5}) {
    const auto run = "ranks" + std::to_string(ranks);
    const auto result = train(recipe("synthetic_mlp"), run, ranks, sets);
    ASSERT_EQ(result.exit_code, 0) << result.err;
    hashes.insert(hash(run));
    const auto check = run_dtrain(folder_.path(), {"ledger", "check", path(run)});
    EXPECT_EQ(check.exit_code, 0) << check.out << check.err;
  }
  EXPECT_EQ(hashes.size(), 1u);
}

TEST_F(TrainTest, BatchNormGivesTheSameHash) {
  const std::string set = "/usr/share/datasets/fashion-mnist/";
  std::ofstream(path("images.toml")) << "schema = 1\nextends = \"" << recipe("base/images") << "\"\n[run]\nname = \"images\"\n"
                                     << "[data]\ntrain = { kind = \"idx\", images = \"" << set
                                     << "train-images-idx3-ubyte.gz\", labels = \"" << set
                                     << "train-labels-idx1-ubyte.gz\" }\neval_fraction = 0.01\n"
                                     << "[train]\nsteps = 3\n[eval]\nsamples = 64\n";
  std::set<std::string> hashes;
  for (int ranks : {1, 2, 3}) {
    const auto run = "ranks" + std::to_string(ranks);
    const auto result = train(path("images.toml"), run, ranks);
    ASSERT_EQ(result.exit_code, 0) << result.err;
    hashes.insert(hash(run));
  }
  EXPECT_EQ(hashes.size(), 1u);
}

TEST_F(TrainTest, GptWithDropoutGivesTheSameHash) {
  std::set<std::string> hashes;
  for (int ranks : {1, 2, 3}) {
    const auto run = "ranks" + std::to_string(ranks);
    const auto result = train(recipe("quickstart"), run, ranks,
                              {"train.steps=3", "model.num_layers=2", "model.hidden_size=32", "model.num_heads=2",
                               "model.dropout=0.1", "lr_schedule.warmup=1", "data.seq_len=32"});
    ASSERT_EQ(result.exit_code, 0) << result.err;
    hashes.insert(hash(run));
  }
  EXPECT_EQ(hashes.size(), 1u);
}

TEST_F(TrainTest, NativeReductionTrainsToo) {
  const auto result = train(recipe("synthetic_mlp"), "native", 2, {"train.steps=3", "train.reduction=native"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
}

TEST_F(TrainTest, OneRankInProcessGivesTheSameHash) {
  ASSERT_EQ(train(recipe("synthetic_mlp"), "processes", 2, {"train.steps=3"}).exit_code, 0);
  auto arguments = run_arguments(recipe("synthetic_mlp"), "here", 1, {"train.steps=3"});
  arguments.push_back("--in-process");
  const auto result = run_dtrain(folder_.path(), arguments);
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(hash("processes"), hash("here"));
}

}  // namespace
}  // namespace dtrain::testing_support
