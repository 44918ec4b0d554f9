// SPDX-License-Identifier: Apache-2.0
//
// The strategy interface is wide enough for a model that is cut into stages: a pipeline of two ranks, written against
// <dtrain/strategy.h> alone, commits the same step as one rank with the whole model.
#include <thread>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <dtrain/model.h>
#include <dtrain/rng.h>
#include <dtrain/strategy.h>

#include "core/comm/memory_transport.h"
#include "core/comm/reducer.h"
#include "core/nn/model_workshop.h"
#include "core/train/lane_gradients.h"
#include "core/train/model_state.h"
#include "core/train/torch_compute.h"

namespace dtrain {
namespace {

constexpr int kLanes = 4;
constexpr int kMicroBatches = 6;
constexpr std::int64_t kFeatures = 8;
constexpr std::int64_t kSamples = 3;  // a micro-batch
constexpr std::uint64_t kTag = 7;

// Five layers: linear and ReLU in turn.
struct Net final : LayeredModel {
  struct Relu final : Layer {
    at::Tensor forward(at::Tensor x, const Batch&) override { return at::relu(x); }
  };
  explicit Net(const Build& b) {
    for (std::int64_t i = 0; i < 3; ++i) {
      if (i > 0) add<Relu>();
      add((b / "layers" / i).linear("linear", {.in = kFeatures, .out = kFeatures, .init_std = 0.5}));
    }
  }
};

struct SquaredError final : Loss {
  LossValue forward(const at::Tensor& output, const Batch& batch) override {
    return {(output - batch.at("target")).square().sum(), static_cast<double>(batch.size)};
  }
};

// Micro-batches 0, 1, 2 ... of made-up numbers.
struct Feed final : BatchFeed {
  FedBatch next() override {
    FedBatch fed;
    fed.index = index++;
    rng::Stream draws(99, static_cast<std::uint64_t>(fed.index));
    for (const char* name : {"input", "target"}) {
      auto values = at::empty({kSamples, kFeatures});
      for (std::int64_t i = 0; i < values.numel(); ++i) values.data_ptr<float>()[i] = draws.uniform() - 0.5f;
      fed.batch.fields.emplace_back(name, values);
    }
    fed.batch.size = kSamples;
    fed.batch.first_position = fed.index * kSamples;
    return fed;
  }
  std::int64_t index = 0;
};

class Reduction final : public GradientReduction {
 public:
  Reduction(Reducer& reducer, const FoldingGradients& gradients, std::vector<bool> present, std::span<float> out)
      : reducer_(reducer), gradients_(gradients), present_(std::move(present)), out_(out) {}
  std::size_t buckets() const override { return 1; }
  void begin() override { reducer_.begin(gradients_.parts(), present_, out_); }
  void start(std::size_t bucket) override { reducer_.start(bucket); }
  void finish() override { reducer_.finish(); }

 private:
  Reducer& reducer_;
  const FoldingGradients& gradients_;
  std::vector<bool> present_;
  std::span<float> out_;
};

// One rank with everything a strategy is given. The lanes of stage s are those from s * kLanes on: each stage adds the gradients
// of its own parameters and zeros for the others.
struct Rank {
  Rank(Communicator* group, int stage, int stages)
      : model(workshop.build(info)),
        state(workshop.parameters(), {}),
        buckets{{0, state.layout().size()}},
        gradients(state.layout().size(), buckets, [this](float* flat) { compute.set_destination(flat); }),
        reduced(state.layout().size()),
        reducer(make_canonical_reducer(group, owners(stages), kLanes * stages, {{state.layout().cut(0, state.layout().size(), stages)}})),
        reduction(*reducer, gradients, std::vector<bool>(static_cast<std::size_t>(kLanes * stages), true), reduced.span()),
        commit({.rank = stage,
                .world = stages,
                .group = group,
                .layout = &state.layout(),
                .reduced = reduced.span(),
                .block_owners = std::vector<std::size_t>(state.layout().blocks().size(), 0),
                .stop_requested = [] { return false; },
                .is_own_gradient_bad = [](std::size_t, std::size_t) { return false; }}),
        compute({.model = &model,
                 .loss = &loss,
                 .table = &workshop.parameters(),
                 .state = &state,
                 .feed = &feed,
                 .commit = &commit,
                 .buckets = buckets}) {
    state.initialise(workshop.parameters(), 5);
    gradients.begin_step(owners(stages)[static_cast<std::size_t>(stage)], kLanes * stages,
                         std::vector<bool>(static_cast<std::size_t>(kLanes * stages), true));
    for (int lane = 0; lane < kLanes; ++lane) {
      const int first = lane * kMicroBatches / kLanes;
      lanes.push_back({stage * kLanes + lane, first, (lane + 1) * kMicroBatches / kLanes - first});
    }
    context = {.rank = stage,
               .world = stages,
               .compute = &compute,
               .gradients = &gradients,
               .reduction = &reduction,
               .exchange = &commit,
               .world_group = group};
  }

  static std::vector<LaneRange> owners(int stages) {
    std::vector<LaneRange> ranges;
    for (int s = 0; s < stages; ++s) ranges.push_back({s * kLanes, (s + 1) * kLanes});
    return ranges;
  }

  void step(Strategy& strategy) {
    commit.begin_step(1);
    strategy.run({.step = 0, .lanes = lanes});
    strategy.reduce();
    strategy.scalars();
  }

  DataInfo info;
  ModelWorkshop workshop{5};
  Net model;
  SquaredError loss;
  Feed feed;
  ModelState state;
  std::vector<std::pair<std::size_t, std::size_t>> buckets;
  FoldingGradients gradients;
  FloatBuffer reduced;
  std::unique_ptr<Reducer> reducer;
  Reduction reduction;
  StepCommit commit;
  TorchCompute compute;
  std::vector<LaneView> lanes;
  StrategyContext context;
};

// What both strategies of this test do after their forwards and backwards.
class Base : public Strategy {
 public:
  explicit Base(const StrategyContext& context) : c_(context) {}
  void reduce() override {
    c_.reduction->begin();
    c_.reduction->start(0);
    c_.reduction->finish();
  }
  void scalars() override { c_.exchange->commit(); }
  void update() override {}
  void publish() override {}
  void run(const StepView& step) override {
    for (const auto& lane : step.lanes) {
      c_.gradients->begin_lane(lane.lane);
      for (int i = 0; i < lane.micro_batches; ++i) micro_batch(lane.first_micro_batch + i);
      c_.gradients->finish_lane(lane.lane);
    }
  }

 protected:
  virtual void micro_batch(int index) = 0;
  StrategyContext c_;
};

struct Whole final : Base {
  using Base::Base;
  void micro_batch(int index) override { c_.compute->forward_backward(index, nullptr); }
};

// Rank 0 holds the first two layers, rank 1 the others.
struct TwoStages final : Base {
  using Base::Base;
  static constexpr int kCut = 2;

  void micro_batch(int index) override {
    if (c_.rank == 0) {
      const auto output = c_.compute->forward(index, 0, kCut, nullptr);
      c_.world_group->send(output.bytes, 1, kTag)->wait();
      auto gradient = like(output.shape);
      c_.world_group->receive(gradient.bytes, 1, kTag)->wait();
      c_.compute->backward(index, &gradient, nullptr);
    } else {
      auto input = like({kSamples, kFeatures});
      c_.world_group->receive(input.bytes, 0, kTag)->wait();
      c_.compute->forward(index, kCut, c_.compute->num_layers(), &input);
      const auto gradient = c_.compute->backward(index, nullptr, nullptr);
      c_.world_group->send(gradient.bytes, 0, kTag)->wait();
    }
  }

  static Activation like(std::vector<std::int64_t> shape) {
    std::size_t count = 1;
    for (auto d : shape) count *= static_cast<std::size_t>(d);
    auto memory = std::make_shared<std::vector<float>>(count);
    return {DType::f32, std::move(shape), std::as_writable_bytes(std::span(*memory)), memory};
  }
};

TEST(TwoStages, CommitTheStepOfOneRankBitForBit) {
  Rank alone(nullptr, 0, 1);
  Whole whole(alone.context);
  alone.step(whole);

  MemoryHub hub;
  std::vector<std::unique_ptr<Communicator>> groups;
  std::vector<std::unique_ptr<Rank>> ranks(2);
  for (int r = 0; r < 2; ++r) groups.push_back(hub.join({.rank = r, .size = 2}));
  std::vector<std::thread> threads;
  for (std::size_t r = 0; r < 2; ++r) {
    threads.emplace_back([&, r] {
      ranks[r] = std::make_unique<Rank>(groups[r].get(), static_cast<int>(r), 2);
      TwoStages strategy(ranks[r]->context);
      ranks[r]->step(strategy);
    });
  }
  for (auto& thread : threads) thread.join();

  const auto expected = alone.reduced.span();
  for (const auto& rank : ranks) {
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), rank->reduced.span().begin()));
    EXPECT_EQ(rank->commit.outcome().loss, alone.commit.outcome().loss);
    EXPECT_EQ(rank->commit.outcome().grad_norm, alone.commit.outcome().grad_norm);
    EXPECT_EQ(rank->commit.outcome().records.size(), static_cast<std::size_t>(kMicroBatches));
  }
  EXPECT_GT(alone.commit.outcome().grad_norm, 0);
}

}  // namespace
}  // namespace dtrain
