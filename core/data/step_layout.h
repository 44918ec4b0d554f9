// SPDX-License-Identifier: Apache-2.0
//
// How samples become steps, steps micro-batches, and micro-batches lanes. Pure arithmetic: the same on every rank,
// whatever their number.
//
//   epoch       ceil(samples / global_batch) steps, the last one short; floor with drop_last
//   step        ceil(count / micro_batch) micro-batches, the last one short
//   lane l      micro-batches [l M / L, (l + 1) M / L) of the M of the step; in a short step lanes may be empty
//   rank r      a contiguous run of lanes; the first L mod N ranks own one more than the others
//
// Steps count from 0 here: they are data steps, which advance also when an update is skipped.
#pragma once

#include <dtrain/strategy.h>

#include <cstdint>
#include <vector>

namespace dtrain {

// One micro-batch of a step. `first` is the position of its first sample within the step.
struct MicroBatch {
  std::int64_t index = 0;
  std::int64_t first = 0;
  std::int64_t count = 0;
};

// One data step: the samples at positions [first, first + count) of the order of `epoch`.
struct StepSamples {
  std::int64_t step = 0;
  std::int64_t epoch = 0;
  std::int64_t first = 0;
  std::int64_t count = 0;
  std::int64_t micro_batches = 0;
};

// [begin, end) of micro-batches or lanes.
struct IndexRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t size() const { return end - begin; }
  bool operator==(const IndexRange&) const = default;
};

// The lanes that rank `rank` of `world` owns. Empty for a rank beyond the number of lanes.
IndexRange lanes_of_rank(std::int64_t lanes, std::int64_t rank, std::int64_t world);

// Immutable; any thread.
class StepLayout {
 public:
  struct Spec {
    std::int64_t samples = 0;  // of an epoch
    std::int64_t global_batch = 0;
    std::int64_t micro_batch = 0;
    std::int64_t lanes = 1;
    bool drop_last = false;
  };

  // UserError: no samples, or an epoch without a whole step under drop_last.
  explicit StepLayout(const Spec& spec);

  // One step that holds all of `samples`: an evaluation.
  static StepLayout single_step(std::int64_t samples, std::int64_t micro_batch, std::int64_t lanes);

  const Spec& spec() const { return spec_; }
  std::int64_t steps_per_epoch() const { return steps_per_epoch_; }
  std::int64_t samples_per_epoch() const;  // that are fed: fewer than spec().samples under drop_last

  StepSamples step(std::int64_t step) const;
  MicroBatch micro_batch(const StepSamples& step, std::int64_t index) const;
  IndexRange lane(const StepSamples& step, std::int64_t lane) const;  // its micro-batches

  // The micro-batches of a rank's lanes: one contiguous range.
  IndexRange of_rank(const StepSamples& step, std::int64_t rank, std::int64_t world) const;
  // The rank's lanes that have work in the step, as a strategy sees them.
  std::vector<LaneView> lane_views(const StepSamples& step, std::int64_t rank, std::int64_t world) const;

  // Length of a run. Exactly one of steps, epochs, tokens is positive; tokens are counted in samples of seq_len tokens,
  // and the last step may go beyond the number asked for. UserError: tokens without sequences, or more steps than 2^63.
  std::int64_t total_steps(std::int64_t steps, std::int64_t epochs, std::int64_t tokens, std::int64_t seq_len) const;

 private:
  Spec spec_;
  std::int64_t steps_per_epoch_ = 0;
};

}  // namespace dtrain
