// SPDX-License-Identifier: Apache-2.0
//
// The commit of a step: one exchange among all ranks. Completing it is the commit; everything after it is local.
//
//   computing   lanes run, gradients gather in private buffers        committed state untouched
//   reduced     the summed gradient is complete on this rank          committed state untouched
//   exchanging  this rank's scalars are on their way                  committed state untouched
//   committed   all ranks' scalars are here: every rank has everything it needs to apply the step, and all apply the same
//   applied     state, step and updates advanced; ledger and metrics appended
//
// A rank that dies while computing, reduced or exchanging: if no survivor completed the exchange, none applies the step; if
// one did, the others can be given its copy and all apply. A rank that dies after `committed` takes nothing with it that the
// others lack. Without recovery (one lost rank ends the run) the newest checkpoint is the last `applied` step that was saved,
// and a resume continues from it.
//
// Everything that decides what a step does is a function of the exchanged bytes folded in a fixed order, so it does not depend
// on the number of ranks.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include <dtrain/comm.h>
#include <dtrain/strategy.h>

#include "core/plan/plan.h"
#include "core/state/flat_layout.h"

namespace dtrain {

// What one micro-batch contributed.
struct MicroBatchRecord {
  std::int64_t index = 0;     // within the step
  std::int64_t rank = 0;
  std::int64_t samples = 0;
  std::uint64_t ids_hash = 0;  // of the sample ids that were fed
  double loss_sum = 0;
  double weight = 0;
};

enum class Verdict : std::uint8_t {
  apply,
  skip_empty,       // total weight 0
  skip_non_finite,  // loss or gradient not finite, and the recipe says skip
  diverged,         // not finite, and the recipe says stop; or too many skips in a row
};

struct StepOutcome {
  Verdict verdict = Verdict::apply;
  double loss = 0;        // sum / weight; 0 when weight is 0
  double weight = 0;
  double grad_norm = 0;   // of the mean gradient, before clipping
  float grad_scale = 0;   // clip factor / weight
  std::int64_t samples = 0;
  bool stop_requested = false;
  std::vector<MicroBatchRecord> records;  // all ranks', by index
  std::string non_finite;                 // what was not finite and where; empty when all was
};

// One rank's part in the exchange. Used by the thread that trains.
class StepCommit final : public CommitExchange {
 public:
  struct Setup {
    int rank = 0;
    int world = 1;
    Communicator* group = nullptr;  // null when world == 1
    const FlatLayout* layout = nullptr;
    std::span<const float> reduced;           // the summed gradient, then sample-weighted buffers
    std::vector<std::size_t> block_owners;    // for each block the rank that computes its partial norm
    double max_grad_norm = 0;
    NonFinite policy = NonFinite::stop;
    std::int64_t max_consecutive_skips = 0;
    std::function<bool()> stop_requested;
    // Whether this rank's own unreduced gradients hold a non-finite value in [begin, end): asked only after a bad step.
    std::function<bool(std::size_t begin, std::size_t end)> is_own_gradient_bad;
  };
  explicit StepCommit(Setup setup) : s_(std::move(setup)) {}

  void begin_step(std::int64_t step);
  void record(const MicroBatchRecord& record) { mine_.push_back(record); }
  void commit() override;
  const StepOutcome& outcome() const { return outcome_; }

  std::int64_t consecutive_skips() const { return consecutive_skips_; }

 private:
  std::vector<std::byte> encode() const;
  void fold(std::span<const std::vector<std::byte>> messages);
  void explain_non_finite(std::span<const double> norms);

  Setup s_;
  std::int64_t step_ = 0;
  std::int64_t consecutive_skips_ = 0;
  std::vector<MicroBatchRecord> mine_;
  StepOutcome outcome_;
};

// Sum of squares in double; the same bits on every instruction set.
double sum_of_squares(std::span<const float> values);

}  // namespace dtrain
