// SPDX-License-Identifier: Apache-2.0
//
// A parallel strategy owns the middle of a step: who computes what, what is exchanged, who updates. The host owns the rest
// (order of data, random numbers, memory, arithmetic of reduction and update) and offers it as the services below, so that a
// strategy is only the choreography. Independent of libtorch.
//
// A step is a transaction: run() and reduce() change nothing that is committed; completing scalars() is the commit; update()
// and publish() are local consequences of it.
//
// Terms: a step has `lanes`, contiguous runs of its micro-batches; a lane's gradient is accumulated in order, and the lanes are
// combined in a fixed binary tree. Gradients are sums over samples or tokens, never means.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <dtrain/abi.h>
#include <dtrain/comm.h>
#include <dtrain/dtype.h>
#include <dtrain/plugin.h>

namespace dtrain {

// One lane of this rank that has work in this step.
struct LaneView {
  int lane = 0;
  int first_micro_batch = 0;  // within the step
  int micro_batches = 0;      // >= 1
};

struct StepView {
  std::int64_t step = 0;
  std::span<const LaneView> lanes;  // of this rank, ascending; empty when the rank has nothing to do in a short step
};

// Output of a stage for one micro-batch, or the gradient of it: dense, row-major. `owner` keeps the memory alive.
struct Activation {
  DType type = DType::f32;
  std::vector<std::int64_t> shape;
  std::span<std::byte> bytes;
  std::shared_ptr<void> owner;
};

// Told during the backward of this rank's last micro-batch that all gradients in a bucket are final in the lane's buffer.
// Thread: the one that trains. Buckets come in ascending order.
class BucketListener {
 public:
  virtual void bucket_ready(std::size_t bucket) = 0;

 protected:
  ~BucketListener() = default;
};

// Forward and backward of micro-batches; gradients are added to the buffer of the lane that was begun last. All calls from
// the thread that trains; micro-batches in ascending order.
class Compute {
 public:
  // The whole model. `last` is null except for the rank's last micro-batch of the step.
  virtual void forward_backward(int micro_batch, BucketListener* last) = 0;

  // One stage: layers [first, end) of a model that is a list of layers. The stage that starts at layer 0 takes its input from
  // the batch (input null); the stage that ends at num_layers() computes the loss and returns an empty activation. backward()
  // takes the gradient of forward()'s output (null for the last stage) and returns the gradient of its input (empty for the
  // first stage). Forwards may run ahead of backwards; backwards come in ascending order of micro-batch.
  virtual int num_layers() const = 0;  // 0: the model cannot be cut
  virtual Activation forward(int micro_batch, int first_layer, int end_layer, const Activation* input) = 0;
  virtual Activation backward(int micro_batch, const Activation* output_gradient, BucketListener* last) = 0;

 protected:
  ~Compute() = default;
};

// This rank's gradient buffers.
class LaneGradients {
 public:
  virtual void begin_lane(int lane) = 0;   // clears the lane's buffer and makes it the destination of gradients
  virtual void finish_lane(int lane) = 0;  // folds the lane into the finished sub-tree that it completes
  virtual void finish_bucket(int lane, std::size_t bucket) = 0;  // the same for one bucket, during the last backward

 protected:
  ~LaneGradients() = default;
};

// Sums the lanes of all ranks of the data-parallel group (canonically or natively, as the plan says).
class GradientReduction {
 public:
  virtual std::size_t buckets() const = 0;
  virtual void begin() = 0;
  virtual void start(std::size_t bucket) = 0;  // returns at once
  virtual void finish() = 0;                   // RecoverableError when a peer is lost: nothing is committed

 protected:
  ~GradientReduction() = default;
};

// The exchange of loss sums, weights, norms and flags among all ranks, whose completion is the commit of the step.
class CommitExchange {
 public:
  virtual void commit() = 0;

 protected:
  ~CommitExchange() = default;
};

// Clip, optimizer and buffers over the state that this rank owns, according to what was committed (a skipped step changes
// nothing).
class StateUpdate {
 public:
  virtual void update() = 0;

 protected:
  ~StateUpdate() = default;
};

struct StrategyContext {
  int rank = 0;
  int world = 1;
  Compute* compute = nullptr;
  LaneGradients* gradients = nullptr;
  GradientReduction* reduction = nullptr;
  CommitExchange* exchange = nullptr;
  StateUpdate* state = nullptr;
  Communicator* world_group = nullptr;  // null when world == 1; not to be used while a reduction is in flight
};

// Thread: the one that trains. A RecoverableError may leave any method; the host then decides about the step.
class Strategy {
 public:
  virtual ~Strategy() = default;
  virtual void run(const StepView& step) = 0;  // this rank's lanes
  virtual void reduce() = 0;                   // gradients of all lanes are summed where they are updated
  virtual void scalars() = 0;                  // the commit
  virtual void update() = 0;
  virtual void publish() = 0;                  // updated state is where the next forward needs it
};

struct StrategyKind {
  static constexpr std::string_view name = "strategy";
  using Interface = Strategy;
  using Context = StrategyContext;
  static constexpr std::string tag() { return abi::tag(DTRAIN_ABI_HASH_STRATEGY); }
};

template <class T, class Options = NoOptions>
constexpr ComponentDeclaration strategy(std::string_view name) {
  return component<StrategyKind, T, Options>(name);
}

}  // namespace dtrain
