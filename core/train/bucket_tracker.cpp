// SPDX-License-Identifier: Apache-2.0
#include "core/train/torch_compute.h"

namespace dtrain {

BucketTracker::BucketTracker(const FlatLayout& layout, std::vector<std::pair<std::size_t, std::size_t>> buckets)
    : buckets_of_tensor_(layout.num_params()), tensors_in_bucket_(buckets.size()), seen_(layout.num_params()) {
  const auto params = layout.tensors().first(layout.num_params());
  for (std::size_t b = 0; b < buckets.size(); ++b) {
    for (std::size_t t = 0; t < params.size(); ++t) {
      const auto begin = params[t].offset;
      const auto end = begin + params[t].count;
      if (begin >= buckets[b].second || end <= buckets[b].first) continue;
      buckets_of_tensor_[t].push_back(b);
      ++tensors_in_bucket_[b];
    }
  }
}

void BucketTracker::begin(BucketListener* listener) {
  listener_ = listener;
  if (listener_ == nullptr) return;
  missing_ = tensors_in_bucket_;
  seen_.assign(seen_.size(), false);
  next_ = 0;
}

void BucketTracker::tensor_ready(std::size_t tensor) {
  if (listener_ == nullptr || seen_[tensor]) return;
  seen_[tensor] = true;
  for (auto bucket : buckets_of_tensor_[tensor]) --missing_[bucket];
  announce_ready();
}

void BucketTracker::finish() {
  if (listener_ == nullptr) return;
  missing_.assign(missing_.size(), 0);
  announce_ready();
  listener_ = nullptr;
}

// In ascending order only: a bucket that is complete early waits for those before it.
void BucketTracker::announce_ready() {
  while (next_ < missing_.size() && missing_[next_] == 0) listener_->bucket_ready(next_++);
}

}  // namespace dtrain
