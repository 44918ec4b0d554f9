// SPDX-License-Identifier: Apache-2.0
#include "core/train/lane_gradients.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include <dtrain/error.h>

namespace dtrain {
namespace {

void add_into(float* into, const float* from, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) into[i] += from[i];
}

}  // namespace

FoldingGradients::FoldingGradients(std::size_t elements, std::vector<Range> buckets,
                                   std::function<void(float*)> set_destination)
    : elements_(elements), buckets_(std::move(buckets)), set_destination_(std::move(set_destination)) {}

void FoldingGradients::begin_step(LaneRange range, int lanes, const std::vector<bool>& present) {
  if (plan_ && present == present_) return;
  plan_.emplace(range, lanes, present);
  present_ = present;
  while (buffers_.size() < plan_->buffers()) buffers_.emplace_back(elements_);
  parts_.clear();
  for (const auto& part : plan_->parts()) parts_.push_back({part.node, buffers_[part.buffer].data()});
}

const FoldingPlan::Step& FoldingGradients::step_of(int lane) const {
  const auto step = std::find_if(plan_->steps().begin(), plan_->steps().end(),
                                 [lane](const FoldingPlan::Step& s) { return s.lane == lane; });
  DTRAIN_CHECK(step != plan_->steps().end(), "lane " + std::to_string(lane) + " is not this rank's");
  return *step;
}

void FoldingGradients::begin_lane(int lane) {
  auto& buffer = buffers_[step_of(lane).buffer];
  std::memset(buffer.data(), 0, elements_ * sizeof(float));
  set_destination_(buffer.data());
}

void FoldingGradients::finish_lane(int lane) { fold(lane, {0, elements_}); }

void FoldingGradients::finish_bucket(int lane, std::size_t bucket) { fold(lane, buckets_[bucket]); }

void FoldingGradients::fold(int lane, Range range) {
  for (const auto& merge : step_of(lane).merges) {
    add_into(buffers_[merge.into].data() + range.first, buffers_[merge.from].data() + range.first,
             range.second - range.first);
  }
}

bool FoldingGradients::is_bad(std::size_t begin, std::size_t end) const {
  return std::any_of(parts_.begin(), parts_.end(), [&](const LanePart& part) {
    return std::any_of(part.data + begin, part.data + end, [](float v) { return !std::isfinite(v); });
  });
}

}  // namespace dtrain
