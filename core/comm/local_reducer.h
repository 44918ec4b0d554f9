// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "core/comm/reducer.h"
#include "core/comm/reduction_layout.h"
#include "core/comm/tree_fold.h"

namespace dtrain {

// Folds one rank's own parts in the calling thread. The whole reduction where there is one rank.
class LocalReducer final : public Reducer {
 public:
  // `rank`: whose parts they are.
  LocalReducer(const ReductionLayout& layout, std::size_t rank);

  void begin(std::span<const LanePart> parts, const std::vector<bool>& lane_present, std::span<float> out) override;
  void start(std::size_t bucket) override;
  void finish() override {}

 private:
  ReductionLayout layout_;
  std::size_t rank_;
  TreeFold fold_;
  std::vector<bool> present_;
  std::vector<const float*> inputs_;
  std::span<const LanePart> parts_;
  std::span<float> out_;
};

// InvariantError: not the nodes that the layout says.
void check_parts(std::span<const LanePart> parts, const std::vector<LaneNode>& expected);

}  // namespace dtrain
