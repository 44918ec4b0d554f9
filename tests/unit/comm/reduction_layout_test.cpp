// SPDX-License-Identifier: Apache-2.0
#include "core/comm/reduction_layout.h"

#include <dtrain/error.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/comm/memory_transport.h"
#include "tests/contract/comm/lane_data.h"

namespace dtrain {
namespace {

using testing::ElementsAre;

TEST(ReductionLayout, NodesOfARank) {
  const ReductionLayout layout(test::even_ranges(16, 3), 16, {});
  std::vector<bool> present(16, true);
  EXPECT_THAT(layout.nodes_of(1, present), ElementsAre(LaneNode{1, 3}, LaneNode{1, 4}, LaneNode{0, 10}));
  present[8] = present[9] = false;
  EXPECT_THAT(layout.nodes_of(1, present), ElementsAre(LaneNode{1, 3}, LaneNode{0, 10}));
  present[6] = false;  // half of a node is enough
  EXPECT_THAT(layout.nodes_of(1, present), ElementsAre(LaneNode{1, 3}, LaneNode{0, 10}));
}

TEST(ReductionLayout, RefusesWhatDoesNotFit) {
  EXPECT_THROW(ReductionLayout({{0, 2}, {3, 4}}, 4, {}), InvariantError);  // a gap
  EXPECT_THROW(ReductionLayout({{0, 2}, {1, 4}}, 4, {}), InvariantError);  // an overlap
  EXPECT_THROW(ReductionLayout({{0, 2}, {2, 3}}, 4, {}), InvariantError);  // too few
  const auto owners = test::even_ranges(4, 2);
  EXPECT_THROW(ReductionLayout(owners, 4, {{{0, 10}}}), InvariantError);
  EXPECT_THROW(ReductionLayout(owners, 4, {{{0, 10, 9}}}), InvariantError);
  EXPECT_THROW(ReductionLayout(owners, 4, {{{0, 5, 10}}, {{9, 12, 20}}}), InvariantError);
  EXPECT_NO_THROW(ReductionLayout(owners, 4, {{{10, 15, 20}}, {{0, 5, 10}}}));  // any order
}

TEST(Reducer, NativeNeedsABackendThatReduces) {
  MemoryHub hub({});
  const auto group = hub.join({.rank = 0, .size = 2});
  try {
    make_native_reducer(group.get(), test::even_ranges(2, 2), 2, {});
    ADD_FAILURE() << "nothing was thrown";
  } catch (const UserError& e) {
    EXPECT_STREQ(e.what(), "train.reduction = \"native\": the communication backend has no all-reduce of its own");
    EXPECT_EQ(e.hint(), "use reduction = \"canonical\"");
  }
}

TEST(Reducer, RefusesPartsThatAreNotTheRanks) {
  const auto reducer = make_canonical_reducer(nullptr, {{0, 2}}, 2, {{{0, 4}}});
  test::Vector data(4), out(4);
  const std::vector<LanePart> parts{{{0, 0}, data.data()}};
  EXPECT_THROW(reducer->begin(parts, {true, true}, out), InvariantError);
}

}  // namespace
}  // namespace dtrain
