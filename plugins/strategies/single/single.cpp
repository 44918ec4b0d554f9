// SPDX-License-Identifier: Apache-2.0
//
// One rank computes all lanes.
#include <dtrain/strategy.h>

namespace {

class Single final : public dtrain::Strategy {
 public:
  Single(const dtrain::StrategyContext& context, const dtrain::NoOptions&) : c_(context) {
    if (context.world != 1) {
      throw dtrain::UserError("parallel.strategy: 'single' runs on one rank, but the run has " +
                                  std::to_string(context.world),
                              "use 'ddp' or 'auto', or launch.ranks = 1");
    }
  }

  void run(const dtrain::StepView& step) override {
    for (const auto& lane : step.lanes) {
      c_.gradients->begin_lane(lane.lane);
      for (int i = 0; i < lane.micro_batches; ++i) c_.compute->forward_backward(lane.first_micro_batch + i, nullptr);
      c_.gradients->finish_lane(lane.lane);
    }
  }

  void reduce() override {
    c_.reduction->begin();
    for (std::size_t bucket = 0; bucket < c_.reduction->buckets(); ++bucket) c_.reduction->start(bucket);
    c_.reduction->finish();
  }
  void scalars() override { c_.exchange->commit(); }
  void update() override { c_.state->update(); }
  void publish() override {}

 private:
  dtrain::StrategyContext c_;
};

}  // namespace

DTRAIN_PLUGIN("single", "0.1.0", dtrain::strategy<Single>("single"))
