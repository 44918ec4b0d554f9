// SPDX-License-Identifier: Apache-2.0
//
// Values and gradients of the fused layers against the plain ATen composites in double precision, for every table of
// kernels that this machine can run.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "core/nn/functions.h"
#include "tests/unit/nn/model_bench.h"
#include "tests/unit/nn/wide_kernels.h"

namespace dtrain {
namespace {

using test::batch_of;
using test::Bench;
using test::close;

std::vector<const kernels::Kernels*> tables() {
  std::vector<const kernels::Kernels*> out{&kernels::kBaseline, &test::kWide};
#if defined(__x86_64__)
  const std::string best = kernels::best().instruction_set;
  if (best != "baseline") out.push_back(&kernels::kAvx2);
  if (best == "avx512") out.push_back(&kernels::kAvx512);
#endif
  return out;
}

class LayerTest : public ::testing::TestWithParam<const kernels::Kernels*> {
 protected:
  LayerTest() : bench(7, *GetParam()) { at::manual_seed(3); }

  at::Tensor parameter(const std::string& name) { return bench.tensor(name); }
  at::Tensor reference(const std::string& name) {
    return parameter(name).detach().to(at::kDouble).requires_grad_(true);
  }
  // Random values instead of the zeros and ones that hide mistakes.
  void shake() {
    bench.bind();
    for (const auto& entry : bench.workshop.parameters().entries()) {
      if (!entry.buffer) entry.tensor.detach().add_(at::randn(entry.spec.shape) * 0.3);
    }
  }

  Bench bench;
};

INSTANTIATE_TEST_SUITE_P(Kernels, LayerTest, ::testing::ValuesIn(tables()),
                         [](const auto& table) { return std::string(table.param->instruction_set); });

TEST_P(LayerTest, LinearMatchesAten) {
  const auto layer = bench.build().linear("fc", 5, 7);
  shake();
  const auto x = at::randn({2, 3, 5}).requires_grad_(true);
  const auto xd = x.detach().to(at::kDouble).requires_grad_(true);
  const auto w = reference("fc.weight");
  const auto b = reference("fc.bias");
  const auto y = layer->forward(x, batch_of(x));
  const auto yd = at::linear(xd, w, b);
  const auto g = at::randn({2, 3, 7});
  y.backward(g);
  yd.backward(g.to(at::kDouble));
  EXPECT_TRUE(close(y, yd));
  EXPECT_TRUE(close(x.grad(), xd.grad()));
  EXPECT_TRUE(close(parameter("fc.weight").grad(), w.grad()));
  EXPECT_TRUE(close(parameter("fc.bias").grad(), b.grad()));
}

TEST_P(LayerTest, LayerNormMatchesAten) {
  for (const std::int64_t features : {3, 8, 16, 37, 64}) {
    Bench one(7, *GetParam());
    const auto layer = one.build().layer_norm("norm", features);
    one.bind();
    for (const auto& entry : one.workshop.parameters().entries()) {
      entry.tensor.detach().add_(at::randn(entry.spec.shape) * 0.3);
    }
    const auto x = (at::randn({4, 5, features}) * 2 + 3).requires_grad_(true);
    const auto xd = x.detach().to(at::kDouble).requires_grad_(true);
    const auto w = one.tensor("norm.weight").detach().to(at::kDouble).requires_grad_(true);
    const auto b = one.tensor("norm.bias").detach().to(at::kDouble).requires_grad_(true);
    const auto y = layer->forward(x, batch_of(x));
    const auto yd = at::layer_norm(xd, {features}, w, b, 1e-5);
    const auto g = at::randn({4, 5, features});
    y.backward(g);
    yd.backward(g.to(at::kDouble));
    EXPECT_TRUE(close(y, yd)) << features;
    EXPECT_TRUE(close(x.grad(), xd.grad())) << features;
    EXPECT_TRUE(close(one.tensor("norm.weight").grad(), w.grad())) << features;
    EXPECT_TRUE(close(one.tensor("norm.bias").grad(), b.grad())) << features;
  }
}

TEST_P(LayerTest, GeluMatchesAten) {
  const auto x = at::cat({at::linspace(-12, 12, 1001), at::tensor({-1e4f, 1e4f, 0.0f})}).requires_grad_(true);
  const auto xd = x.detach().to(at::kDouble).requires_grad_(true);
  const auto y = bench.build().ops().gelu(x);
  const auto yd = at::gelu(xd, "tanh");
  const auto g = at::randn(x.sizes());
  y.backward(g);
  yd.backward(g.to(at::kDouble));
  EXPECT_TRUE(close(y, yd, 1e-5, 1e-6));
  EXPECT_TRUE(close(x.grad(), xd.grad(), 1e-5, 1e-6));
}

TEST_P(LayerTest, EmbeddingAddsEqualIdsInOrder) {
  const auto layer = bench.build().embedding("tok", 6, 3);
  shake();
  const auto ids = at::tensor({1, 5, 1, 0, 1, 5}, at::kLong).view({2, 3});
  const auto w = reference("tok.weight");
  const auto y = layer->forward(ids, batch_of(ids));
  const auto yd = at::embedding(w, ids);
  const auto g = at::randn({2, 3, 3});
  y.backward(g);
  yd.backward(g.to(at::kDouble));
  EXPECT_TRUE(close(y, yd));
  EXPECT_TRUE(close(parameter("tok.weight").grad(), w.grad()));
}

at::Tensor plain_attention(const at::Tensor& qkv, std::int64_t heads, bool causal, const at::Tensor& mask) {
  const auto batch = qkv.size(0);
  const auto tokens = qkv.size(1);
  const auto width = qkv.size(2) / 3;
  const auto part = [&](std::int64_t i) {
    return qkv.slice(2, i * width, (i + 1) * width).reshape({batch, tokens, heads, width / heads}).transpose(1, 2);
  };
  auto scores = at::matmul(part(0), part(1).transpose(2, 3)) / std::sqrt(static_cast<double>(width / heads));
  if (causal) {
    scores = scores.masked_fill(at::ones({tokens, tokens}).triu(1).to(at::kBool), -INFINITY);
  }
  auto weights = at::softmax(scores, -1);
  if (mask.defined()) weights = weights * mask;
  return at::matmul(weights, part(2)).transpose(1, 2).reshape({batch, tokens, width});
}

struct AttentionCase {
  std::int64_t tokens, heads, head_size;
};

TEST_P(LayerTest, AttentionMatchesAten) {
  for (const auto& c :
       {AttentionCase{1, 1, 4}, {3, 2, 8}, {17, 1, 5}, {31, 2, 16}, {33, 3, 20}, {64, 2, 32}, {130, 1, 64}}) {
    for (const bool causal : {true, false}) {
      for (const bool dropped : {false, true}) {
        SCOPED_TRACE(std::to_string(c.tokens) + " tokens, " + std::to_string(c.heads) + " heads of " +
                     std::to_string(c.head_size) + (causal ? ", causal" : "") + (dropped ? ", dropout" : ""));
        const auto width = c.heads * c.head_size;
        const auto qkv = at::randn({2, c.tokens, 3 * width}).requires_grad_(true);
        const auto qkvd = qkv.detach().to(at::kDouble).requires_grad_(true);
        at::Tensor mask;
        if (dropped) mask = at::randint(0, 2, {2, c.heads, c.tokens, c.tokens}).to(at::kFloat) * 2;
        const auto y = functions::attention(qkv, c.heads, causal, mask, *GetParam());
        const auto yd = plain_attention(qkvd, c.heads, causal, dropped ? mask.to(at::kDouble) : mask);
        const auto g = at::randn({2, c.tokens, width});
        y.backward(g);
        yd.backward(g.to(at::kDouble));
        EXPECT_TRUE(close(y, yd));
        EXPECT_TRUE(close(qkv.grad(), qkvd.grad()));
      }
    }
  }
}

// Scores of +-100 overflow a softmax that does not subtract the largest one.
TEST_P(LayerTest, AttentionSurvivesLargeScores) {
  const auto qkv = (at::randn({1, 20, 24}) * 30).requires_grad_(true);
  const auto y = functions::attention(qkv, 1, true, {}, *GetParam());
  const auto yd = plain_attention(qkv.detach().to(at::kDouble), 1, true, {});
  y.sum().backward();
  EXPECT_TRUE(close(y, yd, 1e-3, 1e-3));
  EXPECT_TRUE(at::isfinite(qkv.grad()).all().item<bool>());
}

TEST_P(LayerTest, AttentionPassesNanOn) {
  auto qkv = at::randn({1, 20, 24});
  qkv[0][5][8 + 3] = NAN;  // a key
  const auto y = functions::attention(qkv, 1, true, {}, *GetParam());
  EXPECT_TRUE(at::isnan(y.slice(1, 5)).all().item<bool>());
  EXPECT_FALSE(at::isnan(y.slice(1, 0, 5)).any().item<bool>());
}

TEST_P(LayerTest, DropoutMultipliesByItsMaskWhileTrainingOnly) {
  const auto layer = bench.build().dropout("drop", 0.4);
  const auto x = at::randn({3, 50}).requires_grad_(true);
  EXPECT_TRUE(at::equal(layer->forward(x, batch_of(x, false)), x));
  const auto batch = batch_of(x, true, 8, 2);
  const auto mask = bench.build().rng().dropout_mask(x.sizes(), 0.4, batch, "drop", 0);
  const auto y = layer->forward(x, batch);
  y.sum().backward();
  EXPECT_TRUE(at::equal(y, x * mask));
  EXPECT_TRUE(at::equal(x.grad(), mask));
}

TEST_P(LayerTest, InputsMayBeStrided) {
  const auto norm = bench.build().layer_norm("norm", 6);
  const auto fc = bench.build().linear("fc", 6, 6);
  const auto attention = bench.build().attention("attention", {.hidden = 6, .heads = 2});
  shake();
  const auto x = at::randn({6, 4, 2});
  const auto dense = x.permute({2, 1, 0}).contiguous();
  const auto batch = batch_of(dense);
  const auto run = [&](const at::Tensor& in) {
    const auto leaf = in.detach().requires_grad_(true);
    auto y = attention->forward(bench.build().ops().gelu(fc->forward(norm->forward(leaf, batch), batch)), batch);
    y.transpose(0, 2).square().sum().backward();
    return std::pair(y.detach(), leaf.grad());
  };
  const auto strided = run(x.permute({2, 1, 0})), packed = run(dense);
  EXPECT_TRUE(close(strided.first, packed.first));
  EXPECT_TRUE(close(strided.second, packed.second));
}

TEST(StandardLayers, ASecondDerivativeIsRefused) {
  Bench bench;
  const auto x = at::randn({4}).requires_grad_(true);
  EXPECT_THROW(bench.build().ops().gelu(x).sum().backward({}, /*retain_graph=*/true, /*create_graph=*/true),
               InvariantError);
}

TEST(StandardLayers, SayWhatDoesNotFit) {
  Bench bench;
  const auto message = [&](auto make) -> std::string {
    try {
      make(bench.build() / "blocks" / 0);
    } catch (const UserError& e) {
      return e.message() + " | " + e.hint();
    }
    return "no error";
  };
  EXPECT_EQ(
      message([](const Build& b) { b.linear("up", 0, 4); }),
      "layer 'blocks.0.up': in is 0; it must be at least 1 | check the options of the model and the shape of the data");
  EXPECT_EQ(message([](const Build& b) { b.attention("a", {.hidden = 10, .heads = 3}); }),
            "layer 'blocks.0.a': 10 features cannot be split among 3 heads | choose a number of features that is a "
            "multiple of the "
            "number of heads");
  EXPECT_EQ(message([](const Build& b) { b.dropout("d", 1); }),
            "layer 'blocks.0.d': dropout is 1.000000; it must be in [0, 1) | ");
  EXPECT_EQ(message([](const Build& b) { b.registered("tok.weight"); }),
            "model: no tensor has the name 'blocks.0.tok.weight' yet | register it before the layer that shares it");
}

}  // namespace
}  // namespace dtrain
