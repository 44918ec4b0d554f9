// SPDX-License-Identifier: Apache-2.0
#include "core/comm/local_reducer.h"

#include <dtrain/error.h>

#include <algorithm>
#include <string>

namespace dtrain {

void check_parts(std::span<const LanePart> parts, const std::vector<LaneNode>& expected) {
  const bool same = std::equal(parts.begin(), parts.end(), expected.begin(), expected.end(),
                               [](const LanePart& part, LaneNode node) { return part.node == node; });
  DTRAIN_CHECK(same, std::to_string(parts.size()) + " parts where the lanes make " + std::to_string(expected.size()));
}

LocalReducer::LocalReducer(const ReductionLayout& layout, std::size_t rank)
    : layout_(layout), rank_(rank), fold_(layout.lanes()) {}

void LocalReducer::begin(std::span<const LanePart> parts, const std::vector<bool>& lane_present, std::span<float> out) {
  if (lane_present != present_) {
    present_ = lane_present;
    const auto nodes = layout_.nodes_of(rank_, present_);
    check_parts(parts, nodes);
    fold_.set_inputs(nodes);
  }
  inputs_.resize(parts.size());
  parts_ = parts;
  out_ = out;
}

void LocalReducer::start(std::size_t bucket) {
  const auto begin = layout_.buckets()[bucket].cuts.front(), end = layout_.buckets()[bucket].cuts.back();
  for (std::size_t i = 0; i < parts_.size(); ++i) inputs_[i] = parts_[i].data + begin;
  fold_.fold(inputs_, out_.subspan(begin, end - begin));
}

}  // namespace dtrain
