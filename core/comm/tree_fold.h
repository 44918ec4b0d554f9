// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "core/comm/lane_tree.h"

namespace dtrain {

// Adds up vectors in the order of the lane tree: a parent is left + right, or the one child that has work. Scratch
// memory of a few pages: all nodes of a piece of the vector are folded while it is in the cache. Used by one thread at
// a time.
//
// The bits of a sum that is not a NaN depend on the inputs and the tree alone.
class TreeFold {
 public:
  explicit TreeFold(int lanes) : lanes_(lanes) {}

  // The nodes whose sums are the inputs: disjoint, in order of lanes.
  void set_inputs(std::vector<LaneNode> nodes);

  // `inputs[i]`: the sum over node i, out.size() elements, none of which is in `out`. Without inputs: zeros.
  void fold(std::span<const float* const> inputs, std::span<float> out);

 private:
  static constexpr std::size_t kPiece = 4096;  // elements

  bool visit(LaneNode node, std::size_t depth);

  int lanes_;
  std::vector<LaneNode> nodes_;
  std::vector<std::size_t> program_;         // of a stack machine: push that input, or kAdd
  std::vector<std::vector<float>> scratch_;  // by height of the stack
  std::vector<const float*> stack_;
};

}  // namespace dtrain
