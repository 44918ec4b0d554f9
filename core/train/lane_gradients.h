// SPDX-License-Identifier: Apache-2.0
//
// This rank's gradient buffers: one is filled by the lane in progress, the others hold finished sub-trees of the lane tree, folded
// in place as soon as two siblings are complete.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <dtrain/strategy.h>

#include "core/comm/lane_tree.h"
#include "core/comm/reducer.h"
#include "core/state/state_arena.h"

namespace dtrain {

// Thread: the one that trains.
class FoldingGradients final : public LaneGradients {
 public:
  using Range = std::pair<std::size_t, std::size_t>;  // elements of the flat vector

  // `set_destination` is told the buffer of each lane that begins.
  FoldingGradients(std::size_t elements, std::vector<Range> buckets, std::function<void(float*)> set_destination);

  // Prepares for a step in which this rank owns `range` of `lanes` lanes, of which only those present have work.
  void begin_step(LaneRange range, int lanes, const std::vector<bool>& present);

  void begin_lane(int lane) override;
  void finish_lane(int lane) override;
  void finish_bucket(int lane, std::size_t bucket) override;

  // What this rank will have when all its lanes are finished: known from begin_step on, values final per bucket.
  std::span<const LanePart> parts() const { return parts_; }

  // Whether a finished or unfinished buffer of this step holds a value that is not finite in [begin, end).
  bool is_bad(std::size_t begin, std::size_t end) const;

 private:
  const FoldingPlan::Step& step_of(int lane) const;
  void fold(int lane, Range range);

  std::size_t elements_;
  std::vector<Range> buckets_;
  std::function<void(float*)> set_destination_;
  std::optional<FoldingPlan> plan_;
  std::vector<bool> present_;  // that the plan was made for
  std::vector<FloatBuffer> buffers_;
  std::vector<LanePart> parts_;
};

}  // namespace dtrain
