// SPDX-License-Identifier: Apache-2.0
//
// Forward and backward of micro-batches with libtorch's autograd. Parameters are views of the arena's read-only mapping, their
// .grad views of the current lane's buffer, so autograd accumulates where the reduction reads.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include <ATen/core/Tensor.h>

#include <dtrain/loss.h>
#include <dtrain/model.h>
#include <dtrain/strategy.h>

#include "core/nn/parameter_table.h"
#include "core/train/batch_feed.h"
#include "core/train/commit.h"
#include "core/train/model_state.h"

namespace dtrain {

// Tells which buckets are complete as parameters become ready in any order.
class BucketTracker {
 public:
  BucketTracker(const FlatLayout& layout, std::vector<std::pair<std::size_t, std::size_t>> buckets);
  void begin(BucketListener* listener);         // null: nothing is told
  void tensor_ready(std::size_t tensor);        // all its gradient is in the lane's buffer
  void finish();                                // the rest: parameters that the micro-batch did not touch
 private:
  void announce_ready();

  std::vector<std::vector<std::size_t>> buckets_of_tensor_;
  std::vector<std::size_t> tensors_in_bucket_;
  std::vector<std::size_t> missing_;
  std::vector<bool> seen_;
  std::size_t next_ = 0;
  BucketListener* listener_ = nullptr;
};

class TorchCompute final : public Compute {
 public:
  struct Setup {
    Model* model = nullptr;
    Loss* loss = nullptr;
    ParameterTable* table = nullptr;
    const ModelState* state = nullptr;
    BatchFeed* feed = nullptr;
    StepCommit* commit = nullptr;
    std::uint64_t seed = 0;
    std::int64_t rank = 0;
    std::vector<std::pair<std::size_t, std::size_t>> buckets;
  };
  explicit TorchCompute(Setup setup);
  ~TorchCompute();

  // Flat buffer that gradients and sample-weighted buffers are added to from now on.
  void set_destination(float* flat);

  // Puts the committed buffers where the model sees them.
  void load_buffers();

  void forward_backward(int micro_batch, BucketListener* last) override;
  int num_layers() const override;
  Activation forward(int micro_batch, int first_layer, int end_layer, const Activation* input) override;
  Activation backward(int micro_batch, const Activation* output_gradient, BucketListener* last) override;

 private:
  struct InFlight {
    FedBatch fed;
    at::Tensor input;   // leaf that receives the gradient for the stage before; undefined for the first stage
    at::Tensor output;  // output of the stage, or the loss sum
    bool is_loss = false;
  };

  void prepare(const FedBatch& fed, int micro_batch);
  void record(const FedBatch& fed, const LossValue& value);
  void add_buffers(std::int64_t samples);

  Setup s_;
  const FlatLayout& layout_;
  BucketTracker tracker_;
  FloatBuffer working_buffers_;  // what modules see as their buffers during a micro-batch
  float* destination_ = nullptr;
  std::map<int, InFlight> in_flight_;
};

}  // namespace dtrain
