// SPDX-License-Identifier: Apache-2.0
//
// The fixed binary tree in which lanes are combined. It depends on the number of lanes alone, so a sum has the same
// bits whoever computes which part of it.
#pragma once

#include <compare>
#include <cstddef>
#include <vector>

namespace dtrain {

// [begin, end) of lanes.
struct LaneRange {
  int begin = 0;
  int end = 0;
  bool operator==(const LaneRange&) const = default;
};

// Node `index` of `level` covers the lanes [index << level, min((index + 1) << level, lanes)); level 0 are the lanes.
struct LaneNode {
  int level = 0;
  int index = 0;

  LaneRange range(int lanes) const;
  LaneNode left() const { return {level - 1, 2 * index}; }
  LaneNode right() const { return {level - 1, 2 * index + 1}; }
  auto operator<=>(const LaneNode&) const = default;
};

// The node that covers all lanes.
LaneNode root_of(int lanes);

// The largest nodes wholly inside `range`, in order of lanes; they cover it.
std::vector<LaneNode> maximal_nodes(LaneRange range, int lanes);

// How a rank folds its lanes in place while it computes them in order, like a binary counter: two finished siblings are
// added into the left one's buffer.
class FoldingPlan {
 public:
  struct Step {
    int lane = 0;
    std::size_t buffer = 0;  // that the lane's gradient is accumulated in
    struct Merge {
      std::size_t into = 0, from = 0;
    };
    std::vector<Merge> merges;  // after the lane is finished, in this order
  };
  struct Part {
    LaneNode node;
    std::size_t buffer = 0;
  };

  // `present[lane]`: the lane has work; absent lanes are as if they were not there.
  FoldingPlan(LaneRange range, int lanes, const std::vector<bool>& present);

  const std::vector<Step>& steps() const { return steps_; }  // of the present lanes
  const std::vector<Part>& parts() const { return parts_; }  // what is left: maximal nodes with work, in order
  std::size_t buffers() const { return buffers_; }           // at most ceil(log2 of the lanes) + 1 for an aligned range

 private:
  std::vector<Step> steps_;
  std::vector<Part> parts_;
  std::size_t buffers_ = 0;
};

}  // namespace dtrain
