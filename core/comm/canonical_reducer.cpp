// SPDX-License-Identifier: Apache-2.0
#include "core/comm/canonical_reducer.h"

#include <algorithm>
#include <utility>

#include "core/comm/local_reducer.h"
#include "core/comm/tags.h"

namespace dtrain {

CanonicalReducer::CanonicalReducer(Communicator& group, ReductionLayout layout)
    : group_(group),
      layout_(std::move(layout)),
      self_(static_cast<std::size_t>(group.rank())),
      fold_(layout_.lanes()),
      sends_(group),
      results_(group),
      receives_{WorkList(group), WorkList(group)},
      thread_(*this) {
  for (const auto& bucket : layout_.buckets()) {
    largest_slice_ = std::max(largest_slice_, bucket.cuts[self_ + 1] - bucket.cuts[self_]);
  }
}

CanonicalReducer::~CanonicalReducer() {
  if (thread_.is_open()) group_.abort();
}

void CanonicalReducer::begin(std::span<const LanePart> parts, const std::vector<bool>& lane_present,
                             std::span<float> out) {
  if (lane_present != present_) {
    present_ = lane_present;
    plan_inputs();
  }
  check_parts(parts, layout_.nodes_of(self_, present_));
  parts_ = parts;
  out_ = out;
  thread_.begin(layout_.buckets().size());
}

// Ranks own lanes in order, so the inputs of the fold are the ranks' nodes one after the other.
void CanonicalReducer::plan_inputs() {
  std::vector<LaneNode> inputs;
  remotes_.clear();
  for (std::size_t rank = 0; rank < layout_.ranks(); ++rank) {
    const auto nodes = layout_.nodes_of(rank, present_);
    if (rank == self_) first_own_ = inputs.size();
    for (std::size_t i = 0; i < nodes.size() && rank != self_; ++i) {
      remotes_.push_back({.peer = static_cast<int>(rank), .message = i, .input = inputs.size() + i});
    }
    inputs.insert(inputs.end(), nodes.begin(), nodes.end());
  }
  inputs_.resize(inputs.size());
  fold_.set_inputs(std::move(inputs));
  for (auto& arrivals : arrivals_) {
    if (arrivals.size() < remotes_.size() * largest_slice_) arrivals.resize(remotes_.size() * largest_slice_);
  }
}

std::span<float> CanonicalReducer::slice(std::size_t bucket, std::size_t rank) const {
  const auto& cuts = layout_.buckets()[bucket].cuts;
  return out_.subspan(cuts[rank], cuts[rank + 1] - cuts[rank]);
}

// Receives first: a sender need not wait for a receiver that is ready.
void CanonicalReducer::post(std::size_t bucket) {
  receive_parts(bucket);
  receive_results(bucket);
  send_parts(bucket);
}

void CanonicalReducer::receive_parts(std::size_t bucket) {
  const auto count = slice(bucket, self_).size();
  if (count == 0) return;
  const auto set = bucket % CommThread::kInFlight;
  for (std::size_t i = 0; i < remotes_.size(); ++i) {
    const auto target = std::span(arrivals_[set]).subspan(i * count, count);
    const auto tag = tags::kPart | bucket << 20 | remotes_[i].message;
    receives_[set].add(group_.receive(std::as_writable_bytes(target), remotes_[i].peer, tag));
  }
}

void CanonicalReducer::receive_results(std::size_t bucket) {
  for (std::size_t rank = 0; rank < layout_.ranks(); ++rank) {
    const auto theirs = slice(bucket, rank);
    if (rank == self_ || theirs.empty()) continue;
    results_.add(group_.receive(std::as_writable_bytes(theirs), static_cast<int>(rank), tags::kResult | bucket));
  }
}

// This rank's parts of every other owner's slice.
void CanonicalReducer::send_parts(std::size_t bucket) {
  const auto& cuts = layout_.buckets()[bucket].cuts;
  for (std::size_t rank = 0; rank < layout_.ranks(); ++rank) {
    const auto count = cuts[rank + 1] - cuts[rank];
    if (rank == self_ || count == 0) continue;
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      const std::span<const float> part(parts_[i].data + cuts[rank], count);
      sends_.add(group_.send(std::as_bytes(part), static_cast<int>(rank), tags::kPart | bucket << 20 | i));
    }
  }
}

void CanonicalReducer::complete(std::size_t bucket) {
  const auto mine = slice(bucket, self_);
  if (mine.empty()) return;
  const auto set = bucket % CommThread::kInFlight;
  receives_[set].wait();
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    inputs_[first_own_ + i] = parts_[i].data + layout_.buckets()[bucket].cuts[self_];
  }
  for (std::size_t i = 0; i < remotes_.size(); ++i) {
    inputs_[remotes_[i].input] = arrivals_[set].data() + i * mine.size();
  }
  fold_.fold(inputs_, mine);
  for (std::size_t rank = 0; rank < layout_.ranks(); ++rank) {
    if (rank == self_) continue;
    sends_.add(group_.send(std::as_bytes(mine), static_cast<int>(rank), tags::kResult | bucket));
  }
}

void CanonicalReducer::drain() {
  results_.wait();
  sends_.wait();
}

void CanonicalReducer::fail() noexcept {
  group_.abort();
  for (auto& works : receives_) works.clear();
  results_.clear();
  sends_.clear();
}

}  // namespace dtrain
