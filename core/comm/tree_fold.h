// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <span>
#include <vector>

#include "core/comm/lane_tree.h"

namespace dtrain {

// Adds parts of one slice in the order of the lane tree. Keeps its scratch memory. Used by one thread at a time.
class TreeFold {
 public:
  explicit TreeFold(int lanes) : lanes_(lanes) {}

  // parts: for each known node the first element of the slice. out: the slice of the sum; zeros when there is no part.
  void fold(const std::map<LaneNode, const float*>& parts, std::span<float> out);

 private:
  const float* visit(LaneNode node, const std::map<LaneNode, const float*>& parts, std::span<float> out, std::size_t depth);

  int lanes_;
  std::vector<std::vector<float>> scratch_;
};

}  // namespace dtrain
