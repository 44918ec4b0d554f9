// SPDX-License-Identifier: Apache-2.0
#include "core/data/batch_assembler.h"

#include <dtrain/error.h>
#include <dtrain/rng.h>

#include "core/base/fault.h"

namespace dtrain {

BatchAssembler::BatchAssembler(Setup setup) : s_(std::move(setup)), draws_key_(rng::key(s_.seed, "data.draws")) {
  DTRAIN_CHECK(!s_.sources.empty() && s_.sampler->sources().size() == s_.sources.size());
  DTRAIN_CHECK(s_.layout->spec().samples <= s_.sampler->epoch_size());
  for (const auto& field : s_.sources.front()->info().fields) sample_bytes_.push_back(field.bytes());
}

std::unique_ptr<HostBatch> BatchAssembler::allocate() const {
  auto batch = std::make_unique<HostBatch>();
  const auto capacity = static_cast<std::size_t>(s_.layout->spec().micro_batch);
  batch->sample_bytes_ = sample_bytes_;
  for (auto bytes : sample_bytes_) batch->storage_.emplace_back(bytes * capacity);
  batch->ids_.resize(capacity);
  batch->targets_.resize(sample_bytes_.size());
  return batch;
}

void BatchAssembler::fill(HostBatch& batch, const StepSamples& step, std::int64_t index) const {
  fault::point("data.read", s_.rank, step.step + 1);
  const auto micro = s_.layout->micro_batch(step, index);
  const auto order = s_.sampler->epoch(step.epoch);
  for (std::int64_t i = 0; i < micro.count; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const auto ref = order.at(step.first + micro.first + i);
    const auto id = sample_id(ref.source, ref.index);
    batch.ids_[at] = id;
    for (std::size_t f = 0; f < sample_bytes_.size(); ++f) {
      batch.targets_[f] = {batch.storage_[f].data() + at * sample_bytes_[f], sample_bytes_[f]};
    }
    rng::Stream draws(rng::mix(draws_key_, static_cast<std::uint64_t>(ref.pass)), id);
    s_.sources[static_cast<std::size_t>(ref.source)]->read(ref.index, draws, batch.targets_);
  }
  batch.step = step.step;
  batch.epoch = step.epoch;
  batch.index = index;
  batch.first = micro.first;
  batch.count = micro.count;
  batch.ids_hash = hash_ids(batch.ids());
}

}  // namespace dtrain
