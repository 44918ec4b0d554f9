// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <cmath>

#include "tests/unit/ckpt/fixture.h"

namespace dtrain {
namespace {

using testing::ElementsAre;

class RetentionTest : public CheckpointTest {
 protected:
  void save_at(std::int64_t step, const std::map<std::string, double>& metrics = {}) {
    State state(step);
    save(checkpoints_, step, state, 1, metrics);
  }
  void damage(std::int64_t step) {
    std::filesystem::resize_file(root() / checkpoint_folder(step) / "rank-0.safetensors", 100);
  }
  std::vector<std::int64_t> steps() const {
    std::vector<std::int64_t> out;
    for (const auto& info : checkpoints_.list()) out.push_back(info.step);
    return out;
  }
};

TEST_F(RetentionTest, KeepsTheLast) {
  for (const auto step : {1, 2, 3, 1'000'000'000}) save_at(step);
  const auto report = checkpoints_.prune({.keep_last = 2});
  EXPECT_THAT(steps(), ElementsAre(3, 1'000'000'000));
  EXPECT_THAT(report.removed, ElementsAre("step-000000002", "step-000000001"));
  EXPECT_THAT(report.kept, ElementsAre("step-1000000000", "step-000000003"));
}

TEST_F(RetentionTest, KeepsTheBest) {
  const double nan = std::nan("");
  save_at(1, {{"loss", 0.5}});
  save_at(2, {{"loss", 0.1}});
  save_at(3, {{"loss", nan}});
  save_at(4, {{"loss", 0.1}});
  save_at(5);
  save_at(6, {{"loss", 0.9}});
  checkpoints_.prune({.keep_last = 1, .keep_best = 2, .metric = "loss"});
  EXPECT_THAT(steps(), ElementsAre(2, 4, 6));
  checkpoints_.prune({.keep_last = 1, .keep_best = 1, .metric = "loss"});
  EXPECT_THAT(steps(), ElementsAre(4, 6));  // the newer of two equals
}

TEST_F(RetentionTest, HigherMayBeBetter) {
  save_at(1, {{"accuracy", 0.5}});
  save_at(2, {{"accuracy", 0.9}});
  save_at(3, {{"accuracy", 0.1}});
  checkpoints_.prune({.keep_last = 1, .keep_best = 1, .metric = "accuracy", .higher_is_better = true});
  EXPECT_THAT(steps(), ElementsAre(2, 3));
}

TEST_F(RetentionTest, NeverRemovesTheNewestThatVerifies) {
  for (const auto step : {1, 2, 3, 4}) save_at(step);
  damage(3);
  damage(4);
  const auto report = checkpoints_.prune({.keep_last = 1});
  EXPECT_THAT(steps(), ElementsAre(2, 3, 4));
  ASSERT_EQ(report.damaged.size(), 2u);
  EXPECT_EQ(report.damaged[0].step, 4);
  checkpoints_.prune({.keep_last = 0});
  EXPECT_EQ(checkpoints_.newest_verified().checkpoint->manifest().step, 2);
}

TEST_F(RetentionTest, RemovesNothingWhenNothingVerifies) {
  for (const auto step : {1, 2}) {
    save_at(step);
    damage(step);
  }
  const auto report = checkpoints_.prune({.keep_last = 0});
  EXPECT_THAT(steps(), ElementsAre(1, 2));
  EXPECT_TRUE(report.removed.empty());
  EXPECT_EQ(report.damaged.size(), 2u);
}

TEST_F(RetentionTest, TouchesOnlyItsOwn) {
  save_at(1);
  save_at(2);
  for (const auto* name :
       {"step-1", "step-0000000001", "step-00000000a", "step-000000001.bak", "step-000000001.partial-", "notes"}) {
    std::filesystem::create_directory(root() / name);
    write_file(root() / name / "manifest.json", "mine");
  }
  write_file(root() / "step-000000003", "a file");
  const auto nonce = make_nonce();
  State state(5);
  checkpoints_.write(5, nonce, 0, state.slices<TensorSlice>(0, 1));  // a save in progress
  checkpoints_.prune({.keep_last = 1});
  EXPECT_THAT(steps(), ElementsAre(2, 5));
  EXPECT_THAT(checkpoints_.clean_stale(), ElementsAre("step-000000005.partial-" + nonce));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(root()), {}), 8);
}

}  // namespace
}  // namespace dtrain
