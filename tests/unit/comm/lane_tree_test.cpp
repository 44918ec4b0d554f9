// SPDX-License-Identifier: Apache-2.0
#include "core/comm/lane_tree.h"

#include <dtrain/error.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/contract/comm/lane_data.h"

namespace dtrain {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(LaneTree, RootCoversAllLanes) {
  EXPECT_EQ(root_of(1), (LaneNode{0, 0}));
  EXPECT_EQ(root_of(2), (LaneNode{1, 0}));
  EXPECT_EQ(root_of(5), (LaneNode{3, 0}));
  EXPECT_EQ(root_of(16), (LaneNode{4, 0}));
  for (int lanes = 1; lanes <= 40; ++lanes) EXPECT_EQ(root_of(lanes).range(lanes), (LaneRange{0, lanes}));
  EXPECT_THROW(root_of(0), InvariantError);
}

TEST(LaneTree, ChildrenShareTheirParentsLanes) {
  for (int lanes = 1; lanes <= 20; ++lanes) {
    for (int level = 1; level <= root_of(lanes).level; ++level) {
      for (int index = 0; (index << level) < lanes; ++index) {
        const LaneNode node{level, index};
        const auto whole = node.range(lanes), left = node.left().range(lanes), right = node.right().range(lanes);
        EXPECT_EQ(left.begin, whole.begin);
        EXPECT_EQ(left.end, right.begin);
        EXPECT_EQ(right.end, whole.end);
      }
    }
  }
}

TEST(LaneTree, MaximalNodesOfSixteenLanesOnThreeRanks) {
  EXPECT_THAT(maximal_nodes({0, 6}, 16), ElementsAre(LaneNode{2, 0}, LaneNode{1, 2}));
  EXPECT_THAT(maximal_nodes({6, 11}, 16), ElementsAre(LaneNode{1, 3}, LaneNode{1, 4}, LaneNode{0, 10}));
  EXPECT_THAT(maximal_nodes({11, 16}, 16), ElementsAre(LaneNode{0, 11}, LaneNode{2, 3}));
  EXPECT_THAT(maximal_nodes({0, 16}, 16), ElementsAre(LaneNode{4, 0}));
  EXPECT_THAT(maximal_nodes({3, 3}, 16), IsEmpty());
}

// By definition: inside the range, parent not inside, disjoint, in order, covering.
TEST(LaneTree, MaximalNodesAreMaximal) {
  for (int lanes = 1; lanes <= 17; ++lanes) {
    for (int begin = 0; begin <= lanes; ++begin) {
      for (int end = begin; end <= lanes; ++end) {
        int next = begin;
        for (const auto& node : maximal_nodes({begin, end}, lanes)) {
          const auto range = node.range(lanes);
          EXPECT_EQ(range.begin, next);
          EXPECT_LT(range.begin, range.end);
          next = range.end;
          if (node == root_of(lanes)) continue;
          const auto parent = LaneNode{node.level + 1, node.index / 2}.range(lanes);
          EXPECT_TRUE(parent.begin < begin || parent.end > end) << lanes << " lanes [" << begin << "," << end << ")";
        }
        EXPECT_EQ(next, end);
      }
    }
  }
}

TEST(FoldingPlan, CountsLikeABinaryCounter) {
  const FoldingPlan plan({0, 4}, 4, std::vector<bool>(4, true));
  ASSERT_EQ(plan.steps().size(), 4u);
  EXPECT_EQ(plan.buffers(), 3u);
  EXPECT_THAT(plan.steps()[0].merges, IsEmpty());
  EXPECT_EQ(plan.steps()[1].merges.size(), 1u);
  EXPECT_THAT(plan.steps()[2].merges, IsEmpty());
  EXPECT_EQ(plan.steps()[3].merges.size(), 2u);
  ASSERT_EQ(plan.parts().size(), 1u);
  EXPECT_EQ(plan.parts()[0].node, (LaneNode{2, 0}));
  EXPECT_EQ(plan.parts()[0].buffer, plan.steps()[0].buffer);
}

TEST(FoldingPlan, NeedsFewBuffersForAlignedRanges) {
  int log2 = 0;
  for (int own = 1; own <= 64; own *= 2, ++log2) {
    for (int begin = 0; begin + own <= 64; begin += own) {
      const FoldingPlan plan({begin, begin + own}, 64, std::vector<bool>(64, true));
      EXPECT_LE(plan.buffers(), static_cast<std::size_t>(log2 + 1));
    }
  }
}

// Every contiguous range, with every set of absent lanes: the parts are the sums of their nodes, and no buffer is used
// twice at once.
TEST(FoldingPlan, PartsAreTheSumsOfTheirNodes) {
  for (int lanes = 1; lanes <= 7; ++lanes) {
    std::vector<test::Vector> gradients;
    for (int lane = 0; lane < lanes; ++lane) gradients.push_back(test::lane_gradient(lane, 50, 3));
    for (unsigned mask = 0; mask < (1u << lanes); ++mask) {
      std::vector<bool> present;
      for (int lane = 0; lane < lanes; ++lane) present.push_back((mask >> lane & 1) != 0);
      for (int begin = 0; begin <= lanes; ++begin) {
        for (int end = begin; end <= lanes; ++end) {
          const test::RankLanes rank({begin, end}, lanes, present, gradients);
          std::size_t part = 0;
          for (const auto& node : maximal_nodes({begin, end}, lanes)) {
            const auto expected = test::tree_sum(node, lanes, present, gradients);
            if (!expected) continue;
            ASSERT_LT(part, rank.parts().size());
            ASSERT_EQ(rank.parts()[part].node, node);
            const auto* data = rank.parts()[part].data;
            ASSERT_EQ(test::differences({data, data + 50}, *expected), 0u);
            ++part;
          }
          ASSERT_EQ(part, rank.parts().size());
        }
      }
    }
  }
}

}  // namespace
}  // namespace dtrain
