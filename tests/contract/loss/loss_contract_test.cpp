// SPDX-License-Identifier: Apache-2.0
//
// What every loss must do, and what each loss says about bad input. Add an implementation by adding a line to
// implementations().
#include <dtrain/loss.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "tests/contract/plugin_component.h"

namespace dtrain {
namespace {

// Three kinds of data: one class a sample, one class a token, numbers.
enum class Shape { classes, tokens, numbers };

struct Implementation {
  std::string label;
  std::string name;
  Shape shape = Shape::classes;
  OptionValues options = {};
};

std::vector<Implementation> implementations() {
  return {{"classes", "cross_entropy"},
          {"tokens", "cross_entropy", Shape::tokens},
          {"smoothing", "cross_entropy", Shape::tokens, {{"label_smoothing", 0.2}}},
          {"mse", "mse", Shape::numbers}};
}

auto make(const std::string& name, const OptionValues& options = {}) {
  return test::PluginComponent<LossKind>(std::string(DTRAIN_PLUGINS) + "/loss_" + name + ".so", name).make({}, options);
}

struct Example {
  at::Tensor output;
  Batch batch;
};

class LossContract : public ::testing::TestWithParam<Implementation> {
 protected:
  LossContract() : loss(make(GetParam().name, GetParam().options)) { at::manual_seed(8); }

  Example example(std::int64_t samples) const {
    Example e;
    e.batch.size = samples;
    at::Tensor target;
    switch (GetParam().shape) {
      case Shape::classes:
        e.output = at::randn({samples, 5}) * 2;
        target = at::randint(0, 5, {samples}, at::kLong);
        break;
      case Shape::tokens:
        e.output = at::randn({samples, 3, 5}) * 2;
        target = at::randint(0, 5, {samples, 3}, at::kLong);
        break;
      case Shape::numbers:
        e.output = at::randn({samples, 2, 2});
        target = at::randn({samples, 2, 2});
        break;
    }
    e.output.requires_grad_(true);
    e.batch.fields = {{"target", target}, {"mask", at::ones(target.sizes(), at::kLong)}};
    return e;
  }
  static at::Tensor& mask(Example& e) { return e.batch.fields[1].second; }

  decltype(make("")) loss;
};

INSTANTIATE_TEST_SUITE_P(Implementations, LossContract, ::testing::ValuesIn(implementations()),
                         [](const auto& i) { return i.param.label; });

Example part_of(const Example& e, std::int64_t begin, std::int64_t end) {
  Example part;
  part.output = e.output.detach().slice(0, begin, end).clone().requires_grad_(true);
  part.batch.size = end - begin;
  for (const auto& [name, tensor] : e.batch.fields) part.batch.fields.emplace_back(name, tensor.slice(0, begin, end));
  return part;
}

TEST_P(LossContract, GradientsAreThoseOfTheValue) {
  auto e = example(3);
  mask(e)[1].zero_();
  const auto value = loss->forward(e.output, e.batch);
  value.sum.backward();
  const auto gradient = e.output.grad().view(-1);
  const auto flat = e.output.detach().view(-1);
  for (std::int64_t i = 0; i < flat.numel(); ++i) {
    constexpr double kStep = 1e-2;
    const auto at_offset = [&](double offset) {
      auto moved = flat.clone();
      moved[i] += offset;
      return loss->forward(moved.view(e.output.sizes()), e.batch).sum.item<double>();
    };
    EXPECT_NEAR(gradient[i].item<double>(), (at_offset(kStep) - at_offset(-kStep)) / (2 * kStep), 2e-3) << i;
  }
}

TEST_P(LossContract, SumsAndWeightsAddUp) {
  auto e = example(5);
  mask(e)[3].zero_();
  auto a = part_of(e, 0, 2), b = part_of(e, 2, 5);
  const auto whole = loss->forward(e.output, e.batch);
  const auto first = loss->forward(a.output, a.batch), second = loss->forward(b.output, b.batch);
  EXPECT_NEAR(whole.sum.item<double>(), first.sum.item<double>() + second.sum.item<double>(), 1e-4);
  EXPECT_EQ(whole.weight, first.weight + second.weight);
  whole.sum.backward();
  first.sum.backward();
  second.sum.backward();
  EXPECT_TRUE(at::allclose(e.output.grad(), at::cat({a.output.grad(), b.output.grad()}), 1e-5, 1e-6));
}

TEST_P(LossContract, WhatIsMaskedHasNoInfluenceEvenIfNotFinite) {
  auto e = example(4);
  auto without = part_of(e, 0, 3);
  mask(e)[3].zero_();
  e.output.detach()[3].fill_(NAN);
  const auto value = loss->forward(e.output, e.batch);
  const auto expected = loss->forward(without.output, without.batch);
  EXPECT_NEAR(value.sum.item<double>(), expected.sum.item<double>(), 1e-5);
  EXPECT_EQ(value.weight, expected.weight);
  value.sum.backward();
  expected.sum.backward();
  EXPECT_TRUE(at::allclose(e.output.grad().slice(0, 0, 3), without.output.grad()));
  EXPECT_TRUE((e.output.grad()[3] == 0).all().item<bool>());
}

TEST_P(LossContract, NothingThatCountsIsADifferentiableZero) {
  auto e = example(2);
  mask(e).zero_();
  const auto value = loss->forward(e.output, e.batch);
  EXPECT_EQ(value.weight, 0);
  EXPECT_EQ(value.sum.item<double>(), 0);
  value.sum.backward();
  EXPECT_TRUE((e.output.grad() == 0).all().item<bool>());
}

TEST_P(LossContract, GradientsScaleWithTheLossScale) {
  auto e = example(3);
  auto same = part_of(e, 0, 3);
  loss->forward(e.output, e.batch).sum.backward();
  (loss->forward(same.output, same.batch).sum * 1024).backward();
  EXPECT_TRUE(at::allclose(same.output.grad(), e.output.grad() * 1024));
}

TEST_P(LossContract, NanComesThrough) {
  auto e = example(2);
  e.output.detach().view(-1)[0] = NAN;
  EXPECT_TRUE(std::isnan(loss->forward(e.output, e.batch).sum.item<double>()));
}

TEST_P(LossContract, EvaluationNeedsNoGraph) {
  auto e = example(2);
  const auto trained = loss->forward(e.output, e.batch).sum.item<double>();
  const at::NoGradGuard guard;
  const auto value = loss->forward(e.output, e.batch);
  EXPECT_FALSE(value.sum.requires_grad());
  EXPECT_EQ(value.sum.item<double>(), trained);
}

TEST(CrossEntropy, KnownValues) {
  const auto loss = make("cross_entropy");
  Batch batch;
  batch.size = 2;
  batch.fields = {{"target", at::tensor({0, -1}, at::kLong)}};
  const auto value = loss->forward(at::tensor({std::log(1.0F), std::log(3.0F), 9.0F, 9.0F}).view({2, 2}), batch);
  EXPECT_NEAR(value.sum.item<double>(), std::log(4.0), 1e-6);
  EXPECT_EQ(value.weight, 1);
}

// Chunks are a matter of speed: many rows of a large vocabulary must give what few rows give.
TEST(CrossEntropy, LargeVocabulariesAreCutIntoChunks) {
  const auto loss = make("cross_entropy", {{"label_smoothing", 0.1}});
  const auto output = at::randn({70, 3001}).requires_grad_(true);
  Batch batch;
  batch.size = 70;
  batch.fields = {{"target", at::randint(0, 3001, {70}, at::kLong)}};
  const auto value = loss->forward(output, batch);
  value.sum.backward();
  const auto plain = output.detach().to(at::kDouble).requires_grad_(true);
  const auto sum = at::cross_entropy_loss(plain, batch.at("target"), {}, at::Reduction::Sum, -100, 0.1);
  sum.backward();
  EXPECT_NEAR(value.sum.item<double>(), sum.item<double>(), 1e-3);
  EXPECT_TRUE(at::allclose(output.grad().to(at::kDouble), plain.grad(), 1e-4, 1e-7));
}

std::string message(const std::string& name, const at::Tensor& output,
                    std::vector<std::pair<std::string, at::Tensor>> fields) {
  Batch batch;
  batch.size = output.size(0);
  batch.fields = std::move(fields);
  try {
    make(name)->forward(output, batch);
  } catch (const UserError& e) {
    return e.message() + " | " + e.hint();
  }
  return "no error";
}

TEST(LossMessages, SayWhatDoesNotFit) {
  const auto classes = at::tensor({1, 2}, at::kLong);
  EXPECT_EQ(message("cross_entropy", at::zeros({2, 2}), {{"target", classes}}),
            "loss cross_entropy: the batch has the target 2; the model's output has 2 classes | the data and the model "
            "disagree: "
            "check [model] and [data]");
  EXPECT_EQ(
      message("cross_entropy", at::zeros({2, 3, 5}), {{"target", classes}}),
      "loss cross_entropy: 6 predictions for 2 targets | the data and the model disagree about the shape of a sample");
  EXPECT_EQ(message("cross_entropy", at::zeros({2, 3}), {{"target", at::zeros({2})}}),
            "loss cross_entropy: the field 'target' holds CPUFloatType, not class numbers | use data with integer "
            "targets, or the "
            "loss mse");
  EXPECT_EQ(
      message("cross_entropy", at::zeros({2}), {{"target", classes}}),
      "loss cross_entropy: the model's output is a CPUFloatType of 1 dimensions | it takes fp32 logits [B,classes] or "
      "[B,T,vocabulary]");
  EXPECT_EQ(message("cross_entropy", at::zeros({2, 3}), {{"target", classes}, {"mask", at::ones({3})}}),
            "the field 'mask' has 3 elements, 'target' has 2 | a mask has one element for each target");
  EXPECT_EQ(message("mse", at::zeros({2, 3}), {{"target", at::zeros({2})}}),
            "loss mse: the model's output has 6 elements, the field 'target' has 2 | the data and the model disagree "
            "about the "
            "shape of a sample");
  EXPECT_EQ(message("mse", at::zeros({2, 3}), {{"target", at::zeros({2, 3})}, {"mask", at::ones({4})}}),
            "loss mse: the field 'mask' has 4 elements; the output has 2 samples of 3 elements | a mask has one "
            "element for each "
            "sample or for each element");
  EXPECT_EQ(message("mse", at::zeros({2, 3}), {}),
            "the batch has no field 'target' | choose a data set that provides it; `dtrain data show RECIPE` lists the "
            "fields");
}

}  // namespace
}  // namespace dtrain
