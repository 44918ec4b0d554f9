// SPDX-License-Identifier: Apache-2.0
//
// Whole runs whose losses, norms and weights are known in advance.
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/support/command.h"
#include "tests/support/temp_folder.h"

namespace dtrain::testing_support {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

struct RunSetup {
  std::string model = "scalar";
  std::string loss = "half_square";
  std::string data;  // targets = [...], counts = [...]
  std::string train;  // more lines of [train]
  std::string rest;   // more tables
};

class ExactTest : public testing::Test {
 protected:
  CommandResult train(const RunSetup& s, const std::string& run, int ranks, const std::string& fault = {}) {
    const auto file = folder_.path() / "recipe.toml";
    std::ofstream(file) << "schema = 1\n[run]\nname = \"exact\"\n[model]\nkind = \"" << s.model << "\"\n[loss]\nkind = \""
                        << s.loss << "\"\n[data]\nshuffle = false\ntrain = [{ kind = \"table\", " << s.data
                        << " }]\n[train]\nmicro_batch_size = 1\n"
                        << s.train << "\n[optimizer]\nkind = \"sgd\"\nlr = 1.0\n" << s.rest;
    return run_dtrain(folder_.path(),
                      {"run", file.string(), "--plugin", EXACT_PLUGIN, "--run-dir", (folder_.path() / run).string(), "--ranks",
                       std::to_string(ranks)},
                      {{"DTRAIN_FAULT", fault}});
  }

  std::vector<json> steps(const std::string& run) {
    std::ifstream in(folder_.path() / run / "metrics.jsonl");
    std::vector<json> result;
    for (std::string line; std::getline(in, line);) {
      auto object = json::parse(line);
      if (object["event"] == "step") result.push_back(std::move(object));
    }
    return result;
  }

  // One-element fp32 tensors of the checkpoint after `step`.
  std::map<std::string, float> weights(const std::string& run, int step) {
    char name[32];
    std::snprintf(name, sizeof(name), "step-%09d", step);
    std::map<std::string, float> values;
    for (const auto& entry : fs::directory_iterator(folder_.path() / run / "checkpoints" / name)) {
      if (entry.path().extension() != ".safetensors") continue;
      const auto bytes = read_file(entry.path());
      std::uint64_t size = 0;
      std::memcpy(&size, bytes.data(), sizeof(size));
      const auto header = json::parse(bytes.substr(8, size));
      for (const auto& [key, value] : header.items()) {
        if (key == "__metadata__") continue;
        float number = 0;
        std::memcpy(&number, bytes.data() + 8 + size + value["data_offsets"][0].get<std::size_t>(), sizeof(number));
        values[key] = number;
      }
    }
    return values;
  }

  TempFolder folder_;
};

// Twelve tokens in four micro-batches of 1, 3, 2 and 6 tokens: a mean of means would give another number.
TEST_F(ExactTest, EveryTokenCountsTheSame) {
  const RunSetup setup{.data = "targets = [8.0, 0.0, 4.0, 2.0], counts = [1, 3, 2, 6]",
                    .train = "steps = 1\nglobal_batch_size = 4"};
  for (int ranks : {1, 2}) {
    const auto run = "run" + std::to_string(ranks);
    const auto result = train(setup, run, ranks);
    ASSERT_EQ(result.exit_code, 0) << result.err;
    EXPECT_NEAR(weights(run, 1).at("model.w"), 28.0 / 12, 1e-6);
    EXPECT_NEAR(steps(run).at(0)["loss"].get<double>(), 5.0, 1e-6);
  }
}

TEST_F(ExactTest, ARankWithoutATargetChangesNothing) {
  const auto result = train({.data = "targets = [9.0, 9.0, 2.0, 2.0], counts = [0, 0, 3, 1]",
                             .train = "steps = 1\nglobal_batch_size = 4"},
                            "run", 2);
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_FLOAT_EQ(weights("run", 1).at("model.w"), 2.0f);
  EXPECT_NEAR(steps("run").at(0)["loss"].get<double>(), 2.0, 1e-6);
}

TEST_F(ExactTest, AStepWithoutAnyTargetIsSkippedAndSaysSo) {
  const auto result = train({.data = "targets = [9.0, 9.0, 2.0, 2.0], counts = [0, 0, 1, 1]",
                             .train = "steps = 2\nglobal_batch_size = 2"},
                            "run", 2);
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_FLOAT_EQ(weights("run", 2).at("model.w"), 2.0f);
  EXPECT_TRUE(steps("run").at(0)["skipped"].get<bool>());
  EXPECT_FALSE(steps("run").at(1)["skipped"].get<bool>());
}

// Seven micro-batches, four a step: the last three of an epoch are a step of their own and leak nothing into the next epoch.
TEST_F(ExactTest, AShortLastStepIsDividedByWhatItHolds) {
  const RunSetup setup{.data = "targets = [1.0, 1.0, 1.0, 1.0, 4.0, 4.0, 4.0], counts = [1, 1, 1, 1, 1, 1, 1]",
                    .train = "steps = 3\nglobal_batch_size = 4",
                    .rest = "[checkpoint]\nevery = 1\nkeep_last = 9\n"};
  for (int ranks : {1, 3}) {
    const auto run = "run" + std::to_string(ranks);
    const auto result = train(setup, run, ranks);
    ASSERT_EQ(result.exit_code, 0) << result.err;
    EXPECT_FLOAT_EQ(weights(run, 1).at("model.w"), 1.0f);
    EXPECT_FLOAT_EQ(weights(run, 2).at("model.w"), 4.0f);
    EXPECT_FLOAT_EQ(weights(run, 3).at("model.w"), 1.0f);
  }
}

TEST_F(ExactTest, TheLoggedLossIsThatOfAllMicroBatches) {
  // w = 0 and targets 1, sqrt 3, sqrt 5, sqrt 7 give losses 0.5, 1.5, 2.5 and 3.5.
  const auto result = train({.data = "targets = [1.0, 1.7320508, 2.2360680, 2.6457513], counts = [1, 1, 1, 1]",
                             .train = "steps = 1\nglobal_batch_size = 4"},
                            "run", 2);
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NEAR(steps("run").at(0)["loss"].get<double>(), 2.0, 1e-5);
}

TEST_F(ExactTest, TheNormIsGlobalAndClippingUsesIt) {
  const RunSetup setup{.model = "slopes",
                    .loss = "plain",
                    .data = "targets = [0.0, 0.0], counts = [1, 1]",
                    .train = "steps = 1\nglobal_batch_size = 2\nmax_grad_norm = 6.5"};
  for (int ranks : {1, 2}) {
    const auto run = "run" + std::to_string(ranks);
    const auto result = train(setup, run, ranks);
    ASSERT_EQ(result.exit_code, 0) << result.err;
    EXPECT_NEAR(steps(run).at(0)["grad_norm"].get<double>(), 13.0, 1e-6);
    const auto w = weights(run, 1);
    EXPECT_FLOAT_EQ(w.at("model.a"), -1.5f);
    EXPECT_FLOAT_EQ(w.at("model.b"), -2.0f);
    EXPECT_FLOAT_EQ(w.at("model.c"), -6.0f);
  }
}

TEST_F(ExactTest, ANanEndsTheRunAndLeavesTheGoodCheckpoints) {
  const auto result = train({.data = "targets = [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], "
                                     "counts = [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1], nan_at = 11",
                             .train = "steps = 7\nglobal_batch_size = 2",
                             .rest = "[checkpoint]\nevery = 2\nkeep_last = 2\n"},
                            "run", 2);
  EXPECT_EQ(result.exit_code, 4) << result.err;
  EXPECT_NE(result.err.find("step 6"), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("rank 1"), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("first tensor"), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("w"), std::string::npos) << result.err;
  EXPECT_FLOAT_EQ(weights("run", 2).at("model.w"), 1.0f);
  EXPECT_FLOAT_EQ(weights("run", 4).at("model.w"), 1.0f);
  EXPECT_FALSE(fs::exists(folder_.path() / "run/checkpoints/step-000000006"));
}

TEST_F(ExactTest, ANanCanBeSkipped) {
  const auto result = train({.data = "targets = [1.0, 5.0, 3.0, 3.0], counts = [1, 1, 1, 1], nan_at = 1",
                             .train = "steps = 2\nglobal_batch_size = 2\nnon_finite = \"skip\""},
                            "run", 2);
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(steps("run").at(0)["skipped"].get<bool>());
  EXPECT_FLOAT_EQ(weights("run", 2).at("model.w"), 3.0f);
}

}  // namespace
}  // namespace dtrain::testing_support
