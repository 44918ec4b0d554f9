// SPDX-License-Identifier: Apache-2.0
//
// What every model must do, and what each model says about data and options that it cannot take. Add an implementation
// by adding a line to implementations().
#include <dtrain/loss.h>
#include <dtrain/model.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "tests/contract/plugin_component.h"
#include "tests/unit/nn/model_bench.h"

namespace dtrain {
namespace {

using test::Bench;

struct Implementation {
  std::string label;
  std::string name;
  OptionValues options = {};
  bool batch_statistics = false;  // a sample's output depends on the others while training
};

const OptionValues kSmallGpt{
    {"num_layers", std::int64_t{2}}, {"hidden_size", std::int64_t{16}}, {"num_heads", std::int64_t{2}}};

OptionValues with(OptionValues options, const OptionValues& more) {
  for (const auto& [name, value] : more) options[name] = value;
  return options;
}

std::vector<Implementation> implementations() {
  return {{"gpt", "gpt", kSmallGpt},
          {"gpt_dropout_untied", "gpt", with(kSmallGpt, {{"dropout", 0.25}, {"tied_head", false}})},
          {"convnet", "convnet", {{"channels", std::vector<std::int64_t>{4, 6}}}, true},
          {"mlp", "mlp"}};
}

auto make(Bench& bench, const std::string& name, const OptionValues& options) {
  return test::PluginComponent<ModelKind>(std::string(DTRAIN_PLUGINS) + "/model_" + name + ".so", name)
      .make(bench.build(), options);
}

DataInfo tokens() {
  return {.fields = {{"input", DType::i64, {8}}}, .vocab_size = 13, .num_classes = 0, .seq_len = 8};
}
DataInfo images() {
  return {.fields = {{"input", DType::f32, {1, 8, 8}}}, .vocab_size = 0, .num_classes = 5, .seq_len = 0};
}

class ModelContract : public ::testing::TestWithParam<Implementation> {
 protected:
  struct Made {
    explicit Made(std::uint64_t seed) : bench(seed) {
      bench.data = GetParam().name == "gpt" ? tokens() : images();
      model = make(bench, GetParam().name, GetParam().options);
      bench.bind();
    }
    std::span<const ParameterTable::Entry> entries() { return bench.workshop.parameters().entries(); }
    void zero_gradients() {
      for (auto& g : bench.grads) std::ranges::fill(g, 0.0F);
    }
    Bench bench;
    decltype(make(bench, "", {})) model;
  };

  ModelContract() : made(5) { at::manual_seed(6); }

  Batch batch(std::int64_t samples, bool training) const {
    return test::batch_of(
        GetParam().name == "gpt" ? at::randint(0, 13, {samples, 8}, at::kLong) : at::randn({samples, 1, 8, 8}),
        training, 4, 2);
  }

  Made made;
};

INSTANTIATE_TEST_SUITE_P(Implementations, ModelContract, ::testing::ValuesIn(implementations()),
                         [](const auto& i) { return i.param.label; });

TEST_P(ModelContract, FirstValuesDependOnTheSeedAlone) {
  Made same(5), other(6);
  EXPECT_EQ(made.bench.values, same.bench.values);
  EXPECT_NE(made.bench.values, other.bench.values);
}

TEST_P(ModelContract, OutputHasOneRowOfLogitsForEachTarget) {
  const auto y = made.model->forward(batch(3, true));
  EXPECT_EQ(y.sizes(), GetParam().name == "gpt" ? at::IntArrayRef({3, 8, 13}) : at::IntArrayRef({3, 5}));
  EXPECT_EQ(y.scalar_type(), at::kFloat);
}

TEST_P(ModelContract, TheSameBatchGivesTheSameBits) {
  const auto b = batch(3, true);
  const auto step = [&] {
    made.zero_gradients();
    const auto y = made.model->forward(b);
    y.square().sum().backward();
    return std::pair(y.detach().clone(), made.bench.grads);
  };
  const auto first = step();
  at::rand({17});  // a model draws from the batch's key, not from libtorch's generator
  const auto second = step();
  EXPECT_TRUE(at::equal(first.first, second.first));
  EXPECT_EQ(first.second, second.second);
}

TEST_P(ModelContract, EveryParameterIsReportedOnceAndNeverWritten) {
  const auto before = made.bench.values;
  std::map<std::string, int> reported;
  made.bench.workshop.parameters().on_grad_ready([&](std::size_t i) { ++reported[made.entries()[i].spec.name]; });
  made.model->forward(batch(3, true)).square().sum().backward();
  for (std::size_t i = 0; i < made.entries().size(); ++i) {
    const auto& entry = made.entries()[i];
    if (entry.buffer) continue;
    EXPECT_EQ(reported[entry.spec.name], 1) << entry.spec.name;
    EXPECT_EQ(made.bench.values[i], before[i]) << entry.spec.name;
    EXPECT_EQ(entry.tensor.grad().data_ptr<float>(), made.bench.grads[i].data()) << entry.spec.name;
    EXPECT_TRUE(std::ranges::any_of(made.bench.grads[i], [](float g) { return g != 0; })) << entry.spec.name;
  }
}

TEST_P(ModelContract, GradientsAddUpOverMicroBatches) {
  const auto a = batch(2, true), b = batch(3, true);
  const auto backward = [&](const Batch& x) { made.model->forward(x).square().sum().backward(); };
  std::vector<std::vector<float>> apart[2];
  for (int i = 0; i < 2; ++i) {
    made.zero_gradients();
    backward(i == 0 ? a : b);
    apart[i] = made.bench.grads;
  }
  made.zero_gradients();
  backward(a);
  backward(b);
  for (std::size_t p = 0; p < apart[0].size(); ++p) {
    for (std::size_t e = 0; e < apart[0][p].size(); ++e) {
      const float sum = apart[0][p][e] + apart[1][p][e];
      ASSERT_NEAR(made.bench.grads[p][e], sum, 1e-4 * (1 + std::abs(sum)));
    }
  }
}

TEST_P(ModelContract, EvaluationChangesNoBufferAndSamplesDoNotMix) {
  const auto whole = batch(4, false);
  const auto buffers = made.bench.values;
  const at::NoGradGuard guard;
  const auto y = made.model->forward(whole);
  EXPECT_EQ(made.bench.values, buffers);
  for (std::int64_t i = 0; i < 4; ++i) {
    const auto one = test::batch_of(whole.at("input").slice(0, i, i + 1), false, 100 + i, 9);
    EXPECT_TRUE(test::close(made.model->forward(one)[0], y[i])) << i;
  }
}

TEST_P(ModelContract, TrainingSamplesDoNotDependOnTheirMicroBatch) {
  if (GetParam().batch_statistics) GTEST_SKIP() << "normalises over the micro-batch by design";
  const auto whole = batch(4, true);
  const auto y = made.model->forward(whole);
  for (std::int64_t i = 0; i < 4; ++i) {
    const auto one = test::batch_of(whole.at("input").slice(0, i, i + 1), true, whole.first_position + i, whole.step);
    EXPECT_TRUE(test::close(made.model->forward(one)[0], y[i])) << i;
  }
}

TEST_P(ModelContract, LayersInOrderAreTheModel) {
  if (made.model->layers().empty()) GTEST_SKIP() << "cannot be cut";
  const auto b = batch(2, true);
  auto x = b.at("input");
  for (const auto& layer : made.model->layers()) x = layer->forward(x, b);
  EXPECT_TRUE(at::equal(x, made.model->forward(b)));
}

std::string message(const std::string& name, const DataInfo& data, const OptionValues& options = {}) {
  Bench bench;
  bench.data = data;
  try {
    make(bench, name, options);
  } catch (const UserError& e) {
    return e.message() + " | " + e.hint();
  }
  return "no error";
}

TEST(ModelMessages, SayWhatDoesNotFit) {
  EXPECT_EQ(
      message("gpt", images()),
      "model gpt: the data are not tokens (vocab_size is 0) | use a data set of tokens, such as kind = \"text\" with a "
      "[tokenizer]");
  EXPECT_EQ(message("gpt", {.fields = {}, .vocab_size = 5, .num_classes = 0, .seq_len = 0}),
            "model gpt: the data are not sequences (seq_len is 0) | set data.seq_len");
  EXPECT_EQ(message("gpt", tokens(), {{"hidden_size", std::int64_t{30}}, {"num_heads", std::int64_t{4}}}),
            "model gpt: hidden_size 30 is not a multiple of num_heads 4 | change model.hidden_size or model.num_heads");
  EXPECT_EQ(message("convnet", tokens()),
            "model convnet: the data have no images: a field 'input' of f32 and shape [C,h,w] or [h,w] | use a data "
            "set of images, "
            "such as kind = \"idx\"");
  EXPECT_EQ(message("convnet", images(), {{"channels", std::vector<std::int64_t>{2, 2, 2, 2}}}),
            "model convnet: 4 blocks halve an image more often than its size allows: block 3 gets 1x1 | give fewer "
            "model.channels");
  EXPECT_EQ(message("convnet", images(), {{"kernel_size", std::int64_t{4}}}),
            "model convnet: kernel_size is 4; it must be odd | choose 3, 5 or 7");
  auto no_classes = images();
  no_classes.num_classes = 0;
  EXPECT_EQ(message("convnet", no_classes), "model convnet: the data have no classes | set model.outputs");
  EXPECT_EQ(message("mlp", no_classes), "model mlp: the data have no classes | set model.outputs");
  EXPECT_EQ(message("mlp", tokens()),
            "model mlp: the data have no field 'input' of f32 | use a data set of numbers, or another model");
}

TEST(ModelMessages, GptRefusesLongerSequencesAndUnknownTokens) {
  Bench bench;
  bench.data = tokens();
  const auto model = make(bench, "gpt", kSmallGpt);
  bench.bind();
  const auto forward = [&](const at::Tensor& ids) -> std::string {
    try {
      model->forward(test::batch_of(ids));
    } catch (const UserError& e) {
      return e.message() + " | " + e.hint();
    }
    return "no error";
  };
  EXPECT_EQ(forward(at::zeros({1, 9}, at::kLong)),
            "model gpt: a sequence has 9 tokens; the model was built for at most 8 | raise data.seq_len (a new run) or "
            "give shorter "
            "sequences");
  EXPECT_EQ(forward(at::full({1, 3}, 13, at::kLong)),
            "embedding 'tok': the batch has the id 13; ids are in [0, 13) | the data and the model disagree about the "
            "vocabulary: "
            "check [tokenizer] and [data]");
  EXPECT_EQ(forward(at::zeros({1, 3}, at::kLong)), "no error");
}

}  // namespace
}  // namespace dtrain
