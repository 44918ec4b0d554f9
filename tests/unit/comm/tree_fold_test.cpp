// SPDX-License-Identifier: Apache-2.0
#include "core/comm/tree_fold.h"

#include <dtrain/error.h>
#include <gtest/gtest.h>

#include "tests/contract/comm/lane_data.h"

namespace dtrain {
namespace {

constexpr std::size_t kSize = 9'001;  // two pieces and a tail

// The ranks' nodes as inputs; the value of a node is its sum.
test::Vector folded(const std::vector<LaneRange>& ranges, int lanes, const std::vector<bool>& present,
                    const std::vector<test::Vector>& gradients) {
  std::vector<LaneNode> nodes;
  std::vector<test::Vector> values;
  for (const auto& range : ranges) {
    for (const auto& node : maximal_nodes(range, lanes)) {
      auto sum = test::tree_sum(node, lanes, present, gradients);
      if (!sum) continue;
      nodes.push_back(node);
      values.push_back(std::move(*sum));
    }
  }
  std::vector<const float*> inputs;
  for (const auto& value : values) inputs.push_back(value.data());
  TreeFold fold(lanes);
  fold.set_inputs(nodes);
  test::Vector out(kSize, 7.0f);
  fold.fold(inputs, out);
  return out;
}

TEST(TreeFold, EveryPartitionOfTheLanesGivesTheSameBits) {
  for (const int lanes : {1, 2, 5, 8}) {
    std::vector<test::Vector> gradients;
    for (int lane = 0; lane < lanes; ++lane) gradients.push_back(test::lane_gradient(lane, kSize, 9));
    const std::vector<bool> present(static_cast<std::size_t>(lanes), true);
    const auto expected = *test::tree_sum(root_of(lanes), lanes, present, gradients);
    for (unsigned cuts = 0; cuts < (1u << (lanes - 1)); ++cuts) {  // bit i: a cut after lane i
      std::vector<LaneRange> ranges{{0, 0}};
      for (int lane = 0; lane < lanes; ++lane) {
        ranges.back().end = lane + 1;
        if ((cuts >> lane & 1) != 0) ranges.push_back({lane + 1, lane + 1});
      }
      ASSERT_EQ(test::differences(folded(ranges, lanes, present, gradients), expected), 0u)
          << lanes << " cuts " << cuts;
    }
  }
}

TEST(TreeFold, AbsentLanesAreAsIfTheyWereNotThere) {
  std::vector<test::Vector> gradients;
  for (int lane = 0; lane < 6; ++lane) gradients.push_back(test::lane_gradient(lane, kSize, 4));
  for (unsigned mask = 1; mask < 64; ++mask) {
    std::vector<bool> present;
    for (int lane = 0; lane < 6; ++lane) present.push_back((mask >> lane & 1) != 0);
    const auto expected = *test::tree_sum(root_of(6), 6, present, gradients);
    ASSERT_EQ(test::differences(folded({{0, 2}, {2, 5}, {5, 6}}, 6, present, gradients), expected), 0u) << mask;
  }
}

TEST(TreeFold, OnePartIsCopiedBitForBit) {
  const test::Vector minus(kSize, -0.0f);
  std::vector<test::Vector> gradients{minus, minus};
  EXPECT_EQ(test::differences(folded({{0, 1}, {1, 2}}, 2, {false, true}, gradients), minus), 0u);
  EXPECT_EQ(test::differences(folded({{0, 1}, {1, 2}}, 2, {true, true}, gradients), minus), 0u);  // -0 + -0
}

TEST(TreeFold, NoPartGivesZeros) {
  TreeFold fold(3);
  fold.set_inputs({});
  test::Vector out(10, 5.0f);
  fold.fold({}, out);
  EXPECT_EQ(test::differences(out, test::Vector(10, 0.0f)), 0u);
}

TEST(TreeFold, RefusesOverlappingNodes) {
  TreeFold fold(4);
  EXPECT_THROW(fold.set_inputs({{1, 0}, {0, 1}}), InvariantError);
  EXPECT_THROW(fold.set_inputs({{0, 4}}), InvariantError);
}

}  // namespace
}  // namespace dtrain
