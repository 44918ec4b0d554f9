// SPDX-License-Identifier: Apache-2.0
#include "core/state/flat_layout.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace dtrain {
namespace {

FlatLayout example() {
  const FlatLayout::Named params[] = {{"a", {3, 5}}, {"empty", {0}}, {"big", {200'000}}, {"scalar", {}}};
  const FlatLayout::Named buffers[] = {{"mean", {7}}};
  return FlatLayout(params, buffers);
}

TEST(FlatLayout, AlignsTensorsAndPutsBuffersLast) {
  const auto layout = example();
  ASSERT_EQ(layout.tensors().size(), 5u);
  EXPECT_EQ(layout.num_params(), 4u);
  for (const auto& t : layout.tensors()) EXPECT_EQ(t.offset % FlatLayout::kAlignment, 0u) << t.name;
  EXPECT_EQ(layout.tensors()[0].count, 15u);
  EXPECT_EQ(layout.tensors()[1].count, 0u);
  EXPECT_EQ(layout.tensors()[3].count, 1u);
  EXPECT_EQ(layout.tensors()[4].offset, layout.param_end());
  EXPECT_EQ(layout.size(), layout.param_end() + 16);
}

TEST(FlatLayout, BlocksStayInsideTensorsAndCoverThem) {
  const auto layout = example();
  std::vector<std::size_t> covered(layout.tensors().size());
  for (const auto& block : layout.blocks()) {
    const auto& tensor = layout.tensors()[block.tensor];
    EXPECT_LE(block.end - block.begin, FlatLayout::kBlockElements);
    EXPECT_GE(block.begin, tensor.offset);
    EXPECT_LE(block.end, tensor.offset + tensor.count);
    covered[block.tensor] += block.end - block.begin;
  }
  for (std::size_t i = 0; i < covered.size(); ++i) EXPECT_EQ(covered[i], layout.tensors()[i].count);
  EXPECT_EQ(layout.num_param_blocks(), layout.blocks().size() - 1);
}

TEST(FlatLayout, CutsOnBlockBoundariesForAnyNumberOfParts) {
  const auto layout = example();
  for (int parts : {1, 2, 3, 4, 7, 20}) {
    const auto cuts = layout.cut(0, layout.size(), parts);
    ASSERT_EQ(cuts.size(), static_cast<std::size_t>(parts) + 1);
    EXPECT_EQ(cuts.front(), 0u);
    EXPECT_EQ(cuts.back(), layout.size());
    EXPECT_TRUE(std::is_sorted(cuts.begin(), cuts.end()));
    for (std::size_t i = 1; i + 1 < cuts.size(); ++i) {
      const bool boundary = cuts[i] == layout.size() ||
                            std::any_of(layout.blocks().begin(), layout.blocks().end(),
                                        [&](const FlatBlock& b) { return b.begin == cuts[i]; });
      EXPECT_TRUE(boundary) << cuts[i];
    }
  }
}

TEST(FlatLayout, BucketsCoverEverythingFromTheEnd) {
  const auto layout = example();
  for (std::size_t elements : {1u, 70'000u, 10'000'000u}) {
    const auto buckets = layout.buckets(elements);
    std::size_t end = layout.size();
    for (const auto& [first, last] : buckets) {
      EXPECT_EQ(last, end);
      EXPECT_LT(first, last);
      end = first;
    }
    EXPECT_EQ(end, 0u);
  }
}

TEST(FlatLayout, OfNothingIsEmpty) {
  const FlatLayout layout({}, {});
  EXPECT_EQ(layout.size(), 0u);
  EXPECT_TRUE(layout.buckets(10).empty());
  EXPECT_EQ(layout.cut(0, 0, 3), (std::vector<std::size_t>{0, 0, 0, 0}));
}

}  // namespace
}  // namespace dtrain
