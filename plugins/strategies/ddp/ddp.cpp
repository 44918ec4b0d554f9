// SPDX-License-Identifier: Apache-2.0
//
// Distributed data parallel: every rank holds the whole model and computes its own lanes; buckets of gradients are reduced
// while the last backward is still running (Li et al., "PyTorch Distributed", VLDB 2020, section 3.2.3).
#include <dtrain/strategy.h>

namespace {

class DistributedDataParallel final : public dtrain::Strategy, dtrain::BucketListener {
 public:
  DistributedDataParallel(const dtrain::StrategyContext& context, const dtrain::NoOptions&) : c_(context) {}

  void run(const dtrain::StepView& step) override {
    c_.reduction->begin();
    for (const auto& lane : step.lanes) {
      const bool last_lane = &lane == &step.lanes.back();
      c_.gradients->begin_lane(lane.lane);
      lane_ = lane.lane;
      for (int i = 0; i < lane.micro_batches; ++i) {
        const bool last = last_lane && i + 1 == lane.micro_batches;
        c_.compute->forward_backward(lane.first_micro_batch + i, last ? this : nullptr);
      }
      if (!last_lane) c_.gradients->finish_lane(lane.lane);
    }
    if (step.lanes.empty()) {  // nothing to compute, yet the others need this rank's part in the exchange
      for (std::size_t bucket = 0; bucket < c_.reduction->buckets(); ++bucket) c_.reduction->start(bucket);
    }
  }

  void reduce() override { c_.reduction->finish(); }
  void scalars() override { c_.exchange->commit(); }
  void update() override { c_.state->update(); }
  void publish() override {}

 private:
  void bucket_ready(std::size_t bucket) override {
    c_.gradients->finish_bucket(lane_, bucket);
    c_.reduction->start(bucket);
  }

  dtrain::StrategyContext c_;
  int lane_ = 0;
};

}  // namespace

DTRAIN_PLUGIN("ddp", "0.1.0", dtrain::strategy<DistributedDataParallel>("ddp"))
