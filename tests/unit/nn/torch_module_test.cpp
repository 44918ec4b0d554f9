// SPDX-License-Identifier: Apache-2.0
#include <dtrain/torch_module.h>
#include <gtest/gtest.h>
#include <torch/nn/modules/dropout.h>
#include <torch/nn/modules/linear.h>

#include <functional>
#include <memory>

#include "core/plugin/option.h"
#include "tests/unit/nn/model_bench.h"

namespace dtrain {
namespace {

using test::batch_of;
using test::Bench;
using test::close;

struct Options {
  std::int64_t width = 6;
  constexpr void describe(Schema& s) { s.identity("width", width, range(1, 100), "features"); }
};

struct Net : torch::nn::Module {
  explicit Net(const Options& o)
      : fc1(register_module("fc1", torch::nn::Linear(4, o.width))),
        norm(register_module("norm", torch::nn::BatchNorm1d(o.width))),
        drop(register_module("drop", torch::nn::Dropout(0.5))),
        fc2(register_module("fc2", torch::nn::Linear(o.width, 2))) {
    shared = register_parameter("shared", fc2->weight);
  }
  at::Tensor forward(const Batch& batch) { return fc2(drop(norm(fc1(batch.at("input"))))); }
  torch::nn::Linear fc1;
  torch::nn::BatchNorm1d norm;
  torch::nn::Dropout drop;
  torch::nn::Linear fc2;
  at::Tensor shared;
};

template <class Module>
struct Made {
  explicit Made(std::uint64_t seed) : bench(seed) {
    const OptionValues values;
    const OptionValuesReader reader(values);
    const auto declaration = torch_model<Module, Options>("net");
    const Build build = bench.build();
    model = {static_cast<Model*>(declaration.create(&build, static_cast<const OptionReader*>(&reader))),
             [declaration](Model* m) { declaration.destroy(m); }};
    bench.bind();
  }
  Bench bench;
  std::unique_ptr<Model, std::function<void(Model*)>> model;
};

TEST(TorchModule, RegistersEachTensorOnceAndCannotBeCut) {
  Made<Net> made(1);
  std::vector<std::string> names;
  for (const auto& entry : made.bench.workshop.parameters().entries()) names.push_back(entry.spec.name);
  EXPECT_EQ(names.size(), 8u);
  EXPECT_TRUE(made.bench.workshop.parameters().find("norm.running_mean")->buffer);
  EXPECT_EQ(made.bench.workshop.parameters().find("norm.num_batches_tracked"), nullptr);
  EXPECT_TRUE(made.model->layers().empty());
}

TEST(TorchModule, FirstValuesAreAFunctionOfTheSeed) {
  at::manual_seed(77);
  Made<Net> a(1);
  at::rand({5});
  Made<Net> b(1), c(2);
  EXPECT_EQ(a.bench.values, b.bench.values);
  EXPECT_NE(a.bench.values, c.bench.values);
}

TEST(TorchModule, GradientsReachTheBoundDestination) {
  Made<Net> made(1);
  std::size_t reported = 0;
  made.bench.workshop.parameters().on_grad_ready([&](std::size_t) { ++reported; });
  const auto x = at::randn({8, 4});
  made.model->forward(batch_of(x)).square().sum().backward();
  EXPECT_EQ(reported, 6u);
  for (const auto& entry : made.bench.workshop.parameters().entries()) {
    const auto index = static_cast<std::size_t>(&entry - made.bench.workshop.parameters().entries().data());
    if (entry.buffer) continue;
    EXPECT_EQ(entry.tensor.grad().data_ptr<float>(), made.bench.grads[index].data()) << entry.spec.name;
  }
  EXPECT_NE(made.bench.tensor("norm.running_mean").abs().sum().item<float>(), 0);
}

TEST(TorchModule, RandomLayersDependOnTheMicroBatchesPlaceAlone) {
  Made<Net> a(1), b(1);
  const auto x = at::randn({8, 4});
  const auto first = a.model->forward(batch_of(x, true, 16, 3));
  at::rand({100});
  EXPECT_TRUE(at::equal(first, b.model->forward(batch_of(x, true, 16, 3))));
  EXPECT_FALSE(at::equal(first, b.model->forward(batch_of(x, true, 8, 3))));
  EXPECT_FALSE(at::equal(first, b.model->forward(batch_of(x, true, 16, 4))));
  EXPECT_TRUE(at::equal(a.model->forward(batch_of(x, false)), a.model->forward(batch_of(x, false))));
}

struct DoubleNet : torch::nn::Module {
  explicit DoubleNet(const Options&) { register_parameter("w", at::zeros({2}, at::kDouble)); }
  at::Tensor forward(const Batch& batch) { return batch.at("input"); }
};
struct CumulativeNet : torch::nn::Module {
  CumulativeNet(const Build&, const Options&)
      : norm(register_module("norm", torch::nn::BatchNorm2d(torch::nn::BatchNormOptions(3).momentum({})))) {}
  at::Tensor forward(const Batch& batch) { return norm(batch.at("input")); }
  torch::nn::BatchNorm2d norm;
};

template <class Module>
std::string refusal() {
  try {
    Made<Module> made(1);
  } catch (const UserError& e) {
    return e.message() + " | " + e.hint();
  }
  return "none";
}

TEST(TorchModule, RefusesWhatItCannotKeepExact) {
  EXPECT_EQ(refusal<DoubleNet>(),
            "model: 'w' is a CPUDoubleType of shape [2]; parameters and buffers are contiguous fp32 leaf tensors on "
            "the CPU | "
            "create it as such in the module's constructor");
  EXPECT_EQ(refusal<CumulativeNet>(),
            "model: the BatchNorm 'norm' has no momentum, so its statistics would depend on how often it was called | "
            "give it a "
            "momentum, such as 0.1");
}

}  // namespace
}  // namespace dtrain
