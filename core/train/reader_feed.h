// SPDX-License-Identifier: Apache-2.0
//
// Micro-batches of a reader as tensors over the reader's memory.
#pragma once

#include <chrono>
#include <optional>
#include <vector>

#include <dtrain/data.h>

#include "core/data/batch_reader.h"
#include "core/train/batch_feed.h"

namespace dtrain {

// Thread: the one that trains. `info` outlives it.
class ReaderFeed final : public BatchFeed {
 public:
  ReaderFeed(BatchReader::Setup setup, const DataInfo& info, bool training);

  FedBatch next() override;
  void abort() noexcept { reader_.abort(); }  // any thread

  // Time spent waiting for the reader since the last call.
  double take_wait_ms();

 private:
  BatchReader reader_;
  const DataInfo& info_;
  bool training_;
  std::optional<BatchLease> lease_;  // of the batch handed out last
  double wait_ms_ = 0;
};

}  // namespace dtrain
