// SPDX-License-Identifier: Apache-2.0
//
// Where the step gets its micro-batches as tensors, in the order in which this rank computes them.
#pragma once

#include <cstdint>

#include <dtrain/batch.h>

namespace dtrain {

// One micro-batch and what the ledger says of it. Tensors may alias memory that is valid until the next call of next().
struct FedBatch {
  Batch batch;
  std::int64_t index = 0;      // of the micro-batch within the step
  std::uint64_t ids_hash = 0;  // of the sample ids
};

class BatchFeed {
 public:
  virtual ~BatchFeed() = default;
  virtual FedBatch next() = 0;
};

}  // namespace dtrain
