// SPDX-License-Identifier: Apache-2.0
#include "core/train/trainer.h"

#include <chrono>

#include "core/base/fault.h"

namespace dtrain {
namespace {

double milliseconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

bool due(std::int64_t step, std::int64_t every) { return every > 0 && step % every == 0; }

}  // namespace

RunEnd Trainer::run(TrainPosition position) {
  position_ = position;
  saved_step_ = position.step > 0 ? position.step : -1;
  s_.updater->set_updates(position.updates);
  while (position_.step < s_.total_steps) {
    train_step();
    const auto& outcome = s_.commit->outcome();
    if (outcome.verdict == Verdict::diverged) return RunEnd::diverged;
    const bool last = position_.step == s_.total_steps;
    if (due(position_.step, s_.plan->eval_every) || last) evaluate();
    if (due(position_.step, s_.plan->checkpoint_every) || last || outcome.stop_requested) save();
    if (outcome.stop_requested && !last) return RunEnd::stopped;
  }
  return RunEnd::completed;
}

void Trainer::train_step() {
  const auto start = std::chrono::steady_clock::now();
  const auto step = position_.step + 1;
  const double lr = s_.updater->next_lr();
  s_.hooks->phase("compute", step);
  s_.commit->begin_step(step);
  fault::point("train.step", s_.rank, step);
  s_.strategy->run(s_.view(position_.step));

  const auto computed = std::chrono::steady_clock::now();
  s_.hooks->phase("reduce", step);
  fault::point("train.reduce", s_.rank, step);
  s_.strategy->reduce();
  s_.hooks->phase("commit", step);
  fault::point("train.commit", s_.rank, step);
  s_.strategy->scalars();
  const double comm_ms = milliseconds_since(computed);

  s_.hooks->phase("update", step);
  fault::point("train.committed", s_.rank, step);
  s_.strategy->update();
  fault::point("train.applied", s_.rank, step);
  s_.strategy->publish();
  position_ = {step, s_.updater->updates()};
  s_.hooks->stepped(step, s_.commit->outcome(), lr,
                    {.step_ms = milliseconds_since(start), .data_ms = s_.hooks->data_wait_ms(), .comm_ms = comm_ms});
}

void Trainer::evaluate() {
  if (s_.evaluator == nullptr || evaluated_step_ == position_.step) return;
  s_.hooks->phase("evaluate", position_.step);
  newest_metrics_ = s_.evaluator->run();
  evaluated_step_ = position_.step;
  s_.hooks->evaluated(position_.step, newest_metrics_);
}

void Trainer::save() {
  if (saved_step_ == position_.step) return;
  s_.hooks->phase("save", position_.step);
  s_.hooks->save(position_, evaluated_step_ == position_.step ? newest_metrics_ : MetricValues{});
  saved_step_ = position_.step;
}

}  // namespace dtrain
