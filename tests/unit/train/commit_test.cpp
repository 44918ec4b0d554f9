// SPDX-License-Identifier: Apache-2.0
#include "core/train/commit.h"

#include <cmath>
#include <limits>
#include <thread>

#include <gtest/gtest.h>

#include "core/comm/memory_transport.h"

namespace dtrain {
namespace {

// Ranks as threads that commit one step over the in-memory transport.
class CommitTest : public testing::Test {
 protected:
  struct Rank {
    std::vector<MicroBatchRecord> records;
    bool stop = false;
    bool bad_gradient = false;
  };

  CommitTest() : layout_(kParams, kBuffers), reduced_(layout_.size()) {}

  std::vector<StepOutcome> commit(const std::vector<Rank>& ranks, NonFinite policy = NonFinite::stop, double clip = 0) {
    MemoryHub hub;
    std::vector<StepOutcome> outcomes(ranks.size());
    std::vector<std::thread> threads;
    for (std::size_t r = 0; r < ranks.size(); ++r) {
      threads.emplace_back([&, r] {
        const auto world = static_cast<int>(ranks.size());
        const auto group = hub.join({.rank = static_cast<int>(r), .size = world});
        StepCommit step({.rank = static_cast<int>(r),
                         .world = world,
                         .group = world == 1 ? nullptr : group.get(),
                         .layout = &layout_,
                         .reduced = reduced_,
                         .block_owners = owners(ranks.size()),
                         .max_grad_norm = clip,
                         .policy = policy,
                         .max_consecutive_skips = 2,
                         .stop_requested = [&ranks, r] { return ranks[r].stop; },
                         .is_own_gradient_bad = [&ranks, r](std::size_t, std::size_t) { return ranks[r].bad_gradient; }});
        step.begin_step(5);
        for (const auto& record : ranks[r].records) step.record(record);
        step.commit();
        outcomes[r] = step.outcome();
      });
    }
    for (auto& thread : threads) thread.join();
    return outcomes;
  }

  std::vector<std::size_t> owners(std::size_t world) const {
    std::vector<std::size_t> result;
    for (std::size_t i = 0; i < layout_.blocks().size(); ++i) result.push_back(i % world);
    return result;
  }
  float& gradient(std::size_t tensor) { return reduced_[layout_.tensors()[tensor].offset]; }

  inline static const FlatLayout::Named kParams[] = {{"a", {1}}, {"b", {2}}, {"c", {1}}};
  inline static const FlatLayout::Named kBuffers[] = {{"mean", {1}}};
  FlatLayout layout_;
  std::vector<float> reduced_;
};

MicroBatchRecord record(std::int64_t index, double loss, double weight, std::int64_t rank = 0) {
  return {.index = index, .rank = rank, .samples = 1, .ids_hash = 0, .loss_sum = loss, .weight = weight};
}

TEST_F(CommitTest, FoldsTheSameOnAllRanksWhoeverOwnsWhat) {
  gradient(0) = 3;
  gradient(1) = 4;
  gradient(2) = 12;
  const auto alone = commit({{.records = {record(0, 1, 1), record(1, 2, 1), record(2, 4, 2)}}}).at(0);
  EXPECT_EQ(alone.weight, 4);
  EXPECT_EQ(alone.loss, 7.0 / 4);
  EXPECT_EQ(alone.grad_norm, 13.0 / 4);
  EXPECT_EQ(alone.grad_scale, 0.25f);
  EXPECT_EQ(alone.samples, 3);
  for (const auto& outcome : commit({{.records = {record(2, 4, 2)}}, {}, {.records = {record(0, 1, 1), record(1, 2, 1)}}})) {
    EXPECT_EQ(outcome.loss, alone.loss);
    EXPECT_EQ(outcome.grad_norm, alone.grad_norm);
    EXPECT_EQ(outcome.records.at(0).index, 0);
    EXPECT_EQ(outcome.records.at(2).index, 2);
  }
}

TEST_F(CommitTest, ClipsByTheGlobalNorm) {
  gradient(0) = 26;
  const auto outcome = commit({{.records = {record(0, 1, 2)}}}, NonFinite::stop, 6.5).at(0);
  EXPECT_EQ(outcome.grad_norm, 13);
  EXPECT_EQ(outcome.grad_scale, 0.25f);  // 0.5 / weight 2
}

TEST_F(CommitTest, OneStopRequestStopsAll) {
  for (const auto& outcome : commit({{.records = {record(0, 1, 1)}}, {.stop = true}})) EXPECT_TRUE(outcome.stop_requested);
}

TEST_F(CommitTest, NoWeightIsSkipped) {
  EXPECT_EQ(commit({{.records = {record(0, 0, 0)}}}).at(0).verdict, Verdict::skip_empty);
}

TEST_F(CommitTest, NamesTheTensorAndTheRankOfABadGradient) {
  gradient(1) = std::numeric_limits<float>::infinity();
  for (const auto& outcome : commit({{.records = {record(0, 1, 1)}}, {.bad_gradient = true}})) {
    EXPECT_EQ(outcome.verdict, Verdict::diverged);
    EXPECT_EQ(outcome.non_finite, "the first tensor with a non-finite gradient is b (from rank 1)");
  }
  EXPECT_EQ(commit({{.records = {record(0, 1, 1)}}}, NonFinite::skip).at(0).verdict, Verdict::skip_non_finite);
}

TEST_F(CommitTest, ABadBufferCountsButTheNormLeavesBuffersOut) {
  gradient(0) = 1;
  gradient(3) = 100;
  EXPECT_EQ(commit({{.records = {record(0, 1, 1)}}}).at(0).grad_norm, 1);
  gradient(3) = std::nanf("");
  EXPECT_EQ(commit({{.records = {record(0, 1, 1)}}}).at(0).verdict, Verdict::diverged);
}

TEST(SumOfSquares, IsExactOnSmallIntegersOfAnyLength) {
  for (std::size_t n : {0u, 1u, 7u, 8u, 9u, 1000u}) {
    std::vector<float> values(n);
    double expected = 0;
    for (std::size_t i = 0; i < n; ++i) {
      values[i] = static_cast<float>(i);
      expected += static_cast<double>(i * i);
    }
    EXPECT_EQ(sum_of_squares(values), expected);
  }
}

}  // namespace
}  // namespace dtrain
