// SPDX-License-Identifier: Apache-2.0
#include "core/data/step_layout.h"

#include <dtrain/error.h>

#include <algorithm>
#include <string>

namespace dtrain {
namespace {

std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return a / b + (a % b != 0 ? 1 : 0);
}

// floor(lane * micro_batches / lanes) without overflow.
std::int64_t cut(std::int64_t lane, std::int64_t micro_batches, std::int64_t lanes) {
  return lane * (micro_batches / lanes) + lane * (micro_batches % lanes) / lanes;
}

}  // namespace

IndexRange lanes_of_rank(std::int64_t lanes, std::int64_t rank, std::int64_t world) {
  const auto share = lanes / world;
  const auto extra = lanes % world;
  const auto begin = rank * share + std::min(rank, extra);
  return {begin, begin + share + (rank < extra ? 1 : 0)};
}

StepLayout::StepLayout(const Spec& spec) : spec_(spec) {
  DTRAIN_CHECK(spec.global_batch >= 1 && spec.micro_batch >= 1 && spec.lanes >= 1 && spec.lanes <= 65536);
  if (spec.samples < 1) {
    throw UserError("the training data has no samples",
                    "check the data sets: `dtrain data show RECIPE` lists their sizes");
  }
  steps_per_epoch_ = spec.drop_last ? spec.samples / spec.global_batch : ceil_div(spec.samples, spec.global_batch);
  if (steps_per_epoch_ == 0) {
    throw UserError(
        "an epoch has 0 steps: its " + std::to_string(spec.samples) + " samples do not fill one global batch of " +
            std::to_string(spec.global_batch) + ", and data.drop_last = true drops the incomplete one",
        "set data.drop_last = false, or train.global_batch_size to at most " + std::to_string(spec.samples));
  }
}

StepLayout StepLayout::single_step(std::int64_t samples, std::int64_t micro_batch, std::int64_t lanes) {
  return StepLayout({.samples = samples,
                     .global_batch = std::max<std::int64_t>(samples, 1),
                     .micro_batch = micro_batch,
                     .lanes = lanes});
}

std::int64_t StepLayout::samples_per_epoch() const {
  return spec_.drop_last ? steps_per_epoch_ * spec_.global_batch : spec_.samples;
}

StepSamples StepLayout::step(std::int64_t step) const {
  DTRAIN_CHECK(step >= 0);
  StepSamples s{.step = step, .epoch = step / steps_per_epoch_};
  s.first = step % steps_per_epoch_ * spec_.global_batch;
  s.count = std::min(spec_.global_batch, spec_.samples - s.first);
  s.micro_batches = ceil_div(s.count, spec_.micro_batch);
  return s;
}

MicroBatch StepLayout::micro_batch(const StepSamples& step, std::int64_t index) const {
  DTRAIN_CHECK(index >= 0 && index < step.micro_batches);
  const auto first = index * spec_.micro_batch;
  return {.index = index, .first = first, .count = std::min(spec_.micro_batch, step.count - first)};
}

IndexRange StepLayout::lane(const StepSamples& step, std::int64_t lane) const {
  DTRAIN_CHECK(lane >= 0 && lane < spec_.lanes);
  return {cut(lane, step.micro_batches, spec_.lanes), cut(lane + 1, step.micro_batches, spec_.lanes)};
}

IndexRange StepLayout::of_rank(const StepSamples& step, std::int64_t rank, std::int64_t world) const {
  const auto own = lanes_of_rank(spec_.lanes, rank, world);
  return {cut(own.begin, step.micro_batches, spec_.lanes), cut(own.end, step.micro_batches, spec_.lanes)};
}

std::vector<LaneView> StepLayout::lane_views(const StepSamples& step, std::int64_t rank, std::int64_t world) const {
  std::vector<LaneView> views;
  const auto own = lanes_of_rank(spec_.lanes, rank, world);
  for (auto l = own.begin; l < own.end; ++l) {
    const auto range = lane(step, l);
    if (range.size() == 0) continue;
    views.push_back({.lane = static_cast<int>(l),
                     .first_micro_batch = static_cast<int>(range.begin),
                     .micro_batches = static_cast<int>(range.size())});
  }
  return views;
}

std::int64_t StepLayout::total_steps(std::int64_t steps, std::int64_t epochs, std::int64_t tokens,
                                     std::int64_t seq_len) const {
  DTRAIN_CHECK((steps > 0) + (epochs > 0) + (tokens > 0) == 1, "exactly one of steps, epochs and tokens");
  if (steps > 0) return steps;
  if (tokens > 0) {
    if (seq_len <= 0) {
      throw UserError("train.tokens needs data that are sequences of tokens, and these are not",
                      "set train.steps or train.epochs instead");
    }
    const auto samples = ceil_div(tokens, seq_len);
    const auto rest = samples % samples_per_epoch();
    return samples / samples_per_epoch() * steps_per_epoch_ + ceil_div(rest, spec_.global_batch);
  }
  std::int64_t total = 0;
  if (__builtin_mul_overflow(epochs, steps_per_epoch_, &total)) {
    throw UserError("train.epochs = " + std::to_string(epochs) + " of " + std::to_string(steps_per_epoch_) +
                    " steps each are more steps than can be counted");
  }
  return total;
}

}  // namespace dtrain
