// SPDX-License-Identifier: Apache-2.0
#include "core/comm/native_reducer.h"

#include <utility>

namespace dtrain {

NativeReducer::NativeReducer(Communicator& group, ReductionLayout layout)
    : group_(group),
      layout_(std::move(layout)),
      local_(layout_, static_cast<std::size_t>(group.rank())),
      works_{WorkList(group), WorkList(group)},
      thread_(*this) {}

NativeReducer::~NativeReducer() {
  if (thread_.is_open()) group_.abort();
}

void NativeReducer::begin(std::span<const LanePart> parts, const std::vector<bool>& lane_present,
                          std::span<float> out) {
  local_.begin(parts, lane_present, out);
  out_ = out;
  thread_.begin(layout_.buckets().size());
}

void NativeReducer::post(std::size_t bucket) {
  local_.start(bucket);
  const auto& cuts = layout_.buckets()[bucket].cuts;
  works_[bucket % CommThread::kInFlight].add(
      group_.all_reduce(out_.data() + cuts.front(), cuts.back() - cuts.front(), DType::f32, ReduceOp::sum));
}

void NativeReducer::fail() noexcept {
  group_.abort();
  for (auto& works : works_) works.clear();
}

}  // namespace dtrain
