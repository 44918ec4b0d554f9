// SPDX-License-Identifier: Apache-2.0
//
// Fills a micro-batch from the data sets.
#pragma once

#include <dtrain/data.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "core/data/host_batch.h"
#include "core/data/sampler.h"
#include "core/data/step_layout.h"

namespace dtrain {

// Immutable; any thread. Refers to what its setup points to.
class BatchAssembler {
 public:
  struct Setup {
    std::vector<const DataSet*> sources;  // with equal fields, in the sampler's order
    const Sampler* sampler = nullptr;
    const StepLayout* layout = nullptr;
    std::uint64_t seed = 0;  // of the augmentation
    int rank = 0;            // names the fault point only
  };
  explicit BatchAssembler(Setup setup);

  // A batch with room for a full micro-batch; fill() then allocates nothing.
  std::unique_ptr<HostBatch> allocate() const;

  // Reads micro-batch `index` of `step`. A sample's draws depend on (seed, pass, sample) alone. Passes on what a data
  // set throws; the batch may then be filled again.
  void fill(HostBatch& batch, const StepSamples& step, std::int64_t index) const;

 private:
  Setup s_;
  std::vector<std::size_t> sample_bytes_;
  std::uint64_t draws_key_ = 0;
};

}  // namespace dtrain
