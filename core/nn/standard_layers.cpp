// SPDX-License-Identifier: Apache-2.0
#include "core/nn/standard_layers.h"

#include <ATen/ATen.h>
#include <dtrain/error.h>

#include <cmath>
#include <string>
#include <utility>

#include "core/nn/functions.h"

namespace dtrain {
namespace {

using kernels::Kernels;

class LinearLayer final : public Layer {
 public:
  LinearLayer(const Build& b, const LinearSpec& spec, const Kernels& k) : kernels_(k) {
    const bool column = spec.cut == LinearSpec::Cut::column;
    const int weight_dim = spec.cut == LinearSpec::Cut::none ? -1 : column ? 0 : 1;
    weight_ = b.param("weight", {spec.out, spec.in}, Init::normal(0, spec.init_std), weight_dim);
    if (spec.bias) bias_ = b.param("bias", {spec.out}, Init::zeros(), column ? 0 : -1);
  }
  at::Tensor forward(at::Tensor x, const Batch&) override { return functions::linear(x, weight_, bias_, kernels_); }

 private:
  const Kernels& kernels_;
  at::Tensor weight_, bias_;
};

class EmbeddingLayer final : public Layer {
 public:
  EmbeddingLayer(const Build& b, std::int64_t rows, std::int64_t features, double init_std)
      : path_(b.path()), weight_(b.param("weight", {rows, features}, Init::normal(0, init_std), 0)) {}
  at::Tensor forward(at::Tensor x, const Batch&) override { return functions::embedding(x, weight_, path_.c_str()); }

 private:
  std::string path_;
  at::Tensor weight_;
};

class LayerNormLayer final : public Layer {
 public:
  LayerNormLayer(const Build& b, std::int64_t features, double epsilon, const Kernels& k)
      : kernels_(k),
        weight_(b.param("weight", {features}, Init::ones())),
        bias_(b.param("bias", {features}, Init::zeros())),
        epsilon_(epsilon) {}
  at::Tensor forward(at::Tensor x, const Batch&) override {
    return functions::layer_norm(x, weight_, bias_, epsilon_, kernels_);
  }

 private:
  const Kernels& kernels_;
  at::Tensor weight_, bias_;
  double epsilon_;
};

class BatchNorm2dLayer final : public Layer {
 public:
  BatchNorm2dLayer(const Build& b, std::int64_t channels, double epsilon, double momentum)
      : weight_(b.param("weight", {channels}, Init::ones())),
        bias_(b.param("bias", {channels}, Init::zeros())),
        mean_(b.buffer("running_mean", {channels}, Init::zeros())),
        variance_(b.buffer("running_var", {channels}, Init::ones())),
        epsilon_(epsilon),
        momentum_(momentum) {}
  at::Tensor forward(at::Tensor x, const Batch& batch) override {
    return at::batch_norm(x, weight_, bias_, mean_, variance_, batch.training, momentum_, epsilon_, /*cudnn=*/false);
  }

 private:
  at::Tensor weight_, bias_, mean_, variance_;
  double epsilon_, momentum_;
};

class Conv2dLayer final : public Layer {
 public:
  Conv2dLayer(const Build& b, const Conv2dSpec& spec) : stride_(spec.stride), padding_(spec.padding) {
    const auto fan_in = static_cast<double>(spec.in * spec.kernel * spec.kernel);
    weight_ =
        b.param("weight", {spec.out, spec.in, spec.kernel, spec.kernel}, Init::normal(0, std::sqrt(2.0 / fan_in)));
    if (spec.bias) bias_ = b.param("bias", {spec.out}, Init::zeros());
  }
  at::Tensor forward(at::Tensor x, const Batch&) override { return at::conv2d(x, weight_, bias_, stride_, padding_); }

 private:
  at::Tensor weight_, bias_;
  std::int64_t stride_, padding_;
};

class DropoutLayer final : public Layer {
 public:
  DropoutLayer(const Build& b, double probability) : build_(b), probability_(probability) {}
  at::Tensor forward(at::Tensor x, const Batch& batch) override {
    if (!batch.training || probability_ == 0) return x;
    return x * build_.rng().dropout_mask(x.sizes(), probability_, batch, build_.path(), 0);
  }

 private:
  Build build_;
  double probability_;
};

class AttentionLayer final : public Layer {
 public:
  AttentionLayer(const Build& b, const AttentionSpec& spec, const Kernels& k)
      : build_(b),
        kernels_(k),
        spec_(spec),
        qkv_(b.column_linear("qkv", spec.hidden, 3 * spec.hidden, spec.bias)),
        out_(b.row_linear("out", spec.hidden, spec.hidden, spec.bias, spec.output_init_std)) {}

  at::Tensor forward(at::Tensor x, const Batch& batch) override {
    const auto qkv = qkv_->forward(std::move(x), batch);
    at::Tensor mask;
    if (batch.training && spec_.dropout > 0) {
      const auto tokens = qkv.size(1);
      mask =
          build_.rng().dropout_mask({qkv.size(0), spec_.heads, tokens, tokens}, spec_.dropout, batch, build_.path(), 0);
    }
    return out_->forward(functions::attention(qkv, spec_.heads, spec_.causal, mask, kernels_), batch);
  }

 private:
  Build build_;
  const Kernels& kernels_;
  AttentionSpec spec_;
  LayerPtr qkv_, out_;
};

class LmHeadLayer final : public Layer {
 public:
  LmHeadLayer(const Build& b, std::int64_t features, std::int64_t vocab, const at::Tensor& tied, const Kernels& k)
      : kernels_(k), weight_(tied.defined() ? tied : b.param("weight", {vocab, features}, Init::normal(0, 0.02), 0)) {
    DTRAIN_CHECK(weight_.dim() == 2 && weight_.size(0) == vocab && weight_.size(1) == features, b.path());
  }
  at::Tensor forward(at::Tensor x, const Batch&) override { return functions::linear(x, weight_, {}, kernels_); }

 private:
  const Kernels& kernels_;
  at::Tensor weight_;
};

void require(const Build& b, const char* what, std::int64_t value) {
  if (value > 0) return;
  throw UserError("layer '" + b.path() + "': " + what + " is " + std::to_string(value) + "; it must be at least 1",
                  "check the options of the model and the shape of the data");
}

void require_probability(const Build& b, double p) {
  if (p >= 0 && p < 1) return;
  throw UserError("layer '" + b.path() + "': dropout is " + std::to_string(p) + "; it must be in [0, 1)");
}

}  // namespace

LayerPtr StandardLayers::linear(const Build& b, const LinearSpec& spec) {
  require(b, "in", spec.in);
  require(b, "out", spec.out);
  return std::make_unique<LinearLayer>(b, spec, *kernels_);
}

LayerPtr StandardLayers::embedding(const Build& b, std::int64_t rows, std::int64_t features, double init_std) {
  require(b, "rows", rows);
  require(b, "features", features);
  return std::make_unique<EmbeddingLayer>(b, rows, features, init_std);
}

LayerPtr StandardLayers::layer_norm(const Build& b, std::int64_t features, double epsilon) {
  require(b, "features", features);
  return std::make_unique<LayerNormLayer>(b, features, epsilon, *kernels_);
}

LayerPtr StandardLayers::batch_norm2d(const Build& b, std::int64_t channels, double epsilon, double momentum) {
  require(b, "channels", channels);
  return std::make_unique<BatchNorm2dLayer>(b, channels, epsilon, momentum);
}

LayerPtr StandardLayers::conv2d(const Build& b, const Conv2dSpec& spec) {
  require(b, "in", spec.in);
  require(b, "out", spec.out);
  require(b, "kernel", spec.kernel);
  require(b, "stride", spec.stride);
  return std::make_unique<Conv2dLayer>(b, spec);
}

LayerPtr StandardLayers::attention(const Build& b, const AttentionSpec& spec) {
  require(b, "hidden", spec.hidden);
  require(b, "heads", spec.heads);
  require_probability(b, spec.dropout);
  if (spec.hidden % spec.heads != 0) {
    throw UserError("layer '" + b.path() + "': " + std::to_string(spec.hidden) + " features cannot be split among " +
                        std::to_string(spec.heads) + " heads",
                    "choose a number of features that is a multiple of the number of heads");
  }
  return std::make_unique<AttentionLayer>(b, spec, *kernels_);
}

LayerPtr StandardLayers::dropout(const Build& b, double probability) {
  require_probability(b, probability);
  return std::make_unique<DropoutLayer>(b, probability);
}

LayerPtr StandardLayers::lm_head(const Build& b, std::int64_t features, std::int64_t vocab, const at::Tensor& tied) {
  require(b, "features", features);
  require(b, "vocab", vocab);
  return std::make_unique<LmHeadLayer>(b, features, vocab, tied, *kernels_);
}

at::Tensor StandardOps::gelu(const at::Tensor& x) {
  return functions::gelu(x, *kernels_);
}
at::Tensor StandardOps::relu(const at::Tensor& x) {
  return at::relu(x);
}

}  // namespace dtrain
