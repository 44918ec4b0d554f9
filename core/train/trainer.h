// SPDX-License-Identifier: Apache-2.0
//
// The step loop: knows steps, evaluation and saving; knows nothing of processes, buckets, stages or files.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include <dtrain/strategy.h>

#include "core/train/commit.h"
#include "core/train/evaluator.h"
#include "core/train/state_updater.h"

namespace dtrain {

// Where a run stands: `step` data steps are behind it, `updates` of them changed the weights.
struct TrainPosition {
  std::int64_t step = 0;
  std::int64_t updates = 0;
};

struct StepTiming {
  double step_ms = 0;
  double data_ms = 0;  // of it, waiting for the loader
  double comm_ms = 0;  // of it, waiting for other ranks
};

// What happens around the steps; implemented by the worker. Thread: the one that trains.
class TrainerHooks {
 public:
  virtual ~TrainerHooks() = default;
  virtual void phase(std::string_view phase, std::int64_t step) = 0;
  // After step `step` (counted from 1) was committed and applied or skipped.
  virtual void stepped(std::int64_t step, const StepOutcome& outcome, double lr, const StepTiming& timing) = 0;
  virtual void evaluated(std::int64_t step, const MetricValues& values) = 0;
  virtual double data_wait_ms() = 0;  // time spent waiting for data since the last call
  // Collective. Returns when the checkpoint is durable on all ranks, or the failure policy says to go on without it.
  virtual void save(const TrainPosition& position, const MetricValues& newest_metrics) = 0;
};

enum class RunEnd : std::uint8_t { completed, stopped, diverged };

class Trainer {
 public:
  struct Setup {
    std::int64_t rank = 0;
    const Plan* plan = nullptr;
    std::int64_t total_steps = 0;
    std::function<StepView(std::int64_t step)> view;  // this rank's lanes of data step `step`, from 0
    Strategy* strategy = nullptr;
    StepCommit* commit = nullptr;
    StateUpdater* updater = nullptr;
    Evaluator* evaluator = nullptr;  // null when the recipe evaluates nothing
    TrainerHooks* hooks = nullptr;
  };
  explicit Trainer(Setup setup) : s_(std::move(setup)) {}

  // Runs from `position` to the end of the recipe, or to the step after which a stop was agreed, or to divergence.
  RunEnd run(TrainPosition position);

  const TrainPosition& position() const { return position_; }

 private:
  void train_step();
  void evaluate();
  void save();

  Setup s_;
  TrainPosition position_;
  MetricValues newest_metrics_;
  std::int64_t saved_step_ = -1;
  std::int64_t evaluated_step_ = -1;
};

}  // namespace dtrain
