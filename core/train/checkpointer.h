// SPDX-License-Identifier: Apache-2.0
//
// Saves and loads the state of all ranks. Saving is collective: every rank writes its share of the tensors into one file, rank 0
// publishes when all are durable, and every rank learns how it ended.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include <dtrain/comm.h>

#include "core/ckpt/checkpoint_store.h"
#include "core/train/model_state.h"
#include "core/train/trainer.h"

namespace dtrain {

// How a save ended, the same on every rank.
struct SaveOutcome {
  std::string folder;
  std::string error{};       // empty: saved; else the first failing rank's message
  double seconds = 0;
  std::vector<std::string> removed{};  // by retention; known to rank 0 only
};

class Checkpointer {
 public:
  struct Setup {
    int rank = 0;
    int world = 1;
    Communicator* group = nullptr;  // null on one rank
    ModelState* state = nullptr;
    CheckpointStore* store = nullptr;
    Manifest manifest;              // what is the same in all checkpoints of the run
    Retention retention;
  };
  explicit Checkpointer(Setup setup);

  // Never throws for a failing store: the outcome says it. RecoverableError when a peer is lost.
  SaveOutcome save(const TrainPosition& position, const MetricValues& metrics, const std::string& ledger);

  // Fills this rank's state. UserError when the checkpoint does not hold exactly this model and optimizer.
  void load(const Checkpoint& checkpoint);

 private:
  std::vector<TensorSlice> my_slices() const;
  void discard(std::int64_t step, const std::string& nonce);

  Setup s_;
  std::vector<int> owners_;  // which rank writes each piece of the state
};

}  // namespace dtrain
