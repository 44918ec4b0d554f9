// SPDX-License-Identifier: Apache-2.0
#include "core/comm/lane_tree.h"

#include <dtrain/error.h>

#include <algorithm>
#include <optional>

namespace dtrain {
namespace {

// Walks one maximal node depth first: the order of lanes, and after every right child the merge into the left one.
class Walk {
 public:
  Walk(int lanes, const std::vector<bool>& present, std::vector<FoldingPlan::Step>& steps)
      : lanes_(lanes), present_(present), steps_(steps) {}

  // Buffer that holds the node when its last lane is finished; nothing when none of its lanes has work.
  std::optional<std::size_t> visit(LaneNode node) {
    if (node.range(lanes_).begin >= lanes_) return std::nullopt;
    if (node.level == 0) {
      if (!present_[static_cast<std::size_t>(node.index)]) return std::nullopt;
      steps_.push_back({node.index, take(), {}});
      return steps_.back().buffer;
    }
    const auto left = visit(node.left());
    const auto right = visit(node.right());
    if (!left || !right) return left ? left : right;
    steps_.back().merges.push_back({*left, *right});
    free_.push_back(*right);
    return left;
  }

  std::size_t buffers() const { return buffers_; }

 private:
  std::size_t take() {
    if (free_.empty()) return buffers_++;
    const auto buffer = free_.back();
    free_.pop_back();
    return buffer;
  }

  int lanes_;
  const std::vector<bool>& present_;
  std::vector<FoldingPlan::Step>& steps_;
  std::vector<std::size_t> free_;
  std::size_t buffers_ = 0;
};

}  // namespace

LaneRange LaneNode::range(int lanes) const {
  return {std::min(index << level, lanes), std::min((index + 1) << level, lanes)};
}

LaneNode root_of(int lanes) {
  DTRAIN_CHECK(lanes > 0);
  int level = 0;
  while ((1 << level) < lanes) ++level;
  return {level, 0};
}

std::vector<LaneNode> maximal_nodes(LaneRange range, int lanes) {
  std::vector<LaneNode> nodes;
  const int top = root_of(lanes).level;
  for (int lane = range.begin; lane < range.end;) {
    LaneNode node{0, lane};
    while (node.level < top && node.index % 2 == 0) {
      const LaneNode parent{node.level + 1, node.index / 2};
      if (parent.range(lanes).end > range.end) break;
      node = parent;
    }
    nodes.push_back(node);
    lane = node.range(lanes).end;
  }
  return nodes;
}

FoldingPlan::FoldingPlan(LaneRange range, int lanes, const std::vector<bool>& present) {
  Walk walk(lanes, present, steps_);
  for (const auto& node : maximal_nodes(range, lanes)) {
    if (const auto buffer = walk.visit(node)) parts_.push_back({node, *buffer});
  }
  buffers_ = walk.buffers();
}

}  // namespace dtrain
