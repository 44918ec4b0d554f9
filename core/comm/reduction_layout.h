// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dtrain/comm.h>

#include <cstddef>
#include <vector>

#include "core/comm/reducer.h"

namespace dtrain {

// What all ranks of a reduction must agree on, and what follows from it.
class ReductionLayout {
 public:
  // InvariantError: the lanes of the owners do not cover [0, lanes) in order, cuts that do not ascend or whose number
  // is not owners + 1, buckets that overlap.
  ReductionLayout(std::vector<LaneRange> owners, int lanes, std::vector<Bucket> buckets);

  int lanes() const { return lanes_; }
  std::size_t ranks() const { return owners_.size(); }
  const std::vector<Bucket>& buckets() const { return buckets_; }

  // The maximal nodes of a rank's lanes with work, in order.
  std::vector<LaneNode> nodes_of(std::size_t rank, const std::vector<bool>& lane_present) const;

  // Collective. InvariantError that names two ranks whose layouts differ.
  void check_same_everywhere(Communicator& group) const;

 private:
  std::vector<LaneRange> owners_;
  int lanes_;
  std::vector<Bucket> buckets_;
};

}  // namespace dtrain
