// SPDX-License-Identifier: Apache-2.0
//
// Models. A model is an ordered list of layers made from a Build; the host owns parameters, buffers, random numbers and the
// implementation of the standard layers, so the same source runs unsharded, tensor-parallel and cut into pipeline stages.
// A plain torch::nn::Module is accepted through <dtrain/torch_module.h> under the data-parallel strategies.
//
// Shape suffixes in comments: B samples, T tokens of a sequence, C features, V vocabulary, H heads, D features of a head.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

#include <dtrain/abi.h>
#include <dtrain/batch.h>
#include <dtrain/data.h>
#include <dtrain/plugin.h>
#include <dtrain/torch_compat.h>

namespace dtrain {

// Distribution of a tensor's first values. The draws are keyed by (seed, name, global element index).
struct Init {
  enum class Kind : std::uint8_t { constant, normal, uniform };
  Kind kind = Kind::constant;
  double a = 0;  // constant: value; normal: mean; uniform: lower bound
  double b = 0;  // normal: standard deviation; uniform: upper bound

  static constexpr Init constant(double value) { return {Kind::constant, value, 0}; }
  static constexpr Init zeros() { return constant(0); }
  static constexpr Init ones() { return constant(1); }
  static constexpr Init normal(double mean, double std) { return {Kind::normal, mean, std}; }
  static constexpr Init uniform(double lower, double upper) { return {Kind::uniform, lower, upper}; }
};

struct ParamSpec {
  std::string name;  // full dotted path, unique in the model
  std::vector<std::int64_t> shape;
  Init init = {};
  int shard_dim = -1;  // dimension that tensor parallelism cuts; -1: replicated
};

// One piece of a model. The input of the first layer is the batch's field "input".
// Thread: the one that trains. Parameters are read-only memory: a layer never writes them.
class Layer {
 public:
  virtual ~Layer() = default;
  virtual at::Tensor forward(at::Tensor x, const Batch& batch) = 0;
};
using LayerPtr = std::unique_ptr<Layer>;

// ---- The four services behind a Build; implemented by the host. ----

// Parameters and buffers in registration order. A returned tensor has its shape at once and its values when the model has
// been built; keep it, do not replace it.
class Params {
 public:
  virtual at::Tensor param(const ParamSpec& spec) = 0;
  // Running state that is not trained (BatchNorm statistics). A layer updates it in place while batch.training; each
  // micro-batch starts from the committed values, and a step commits the sample-weighted mean over its micro-batches.
  virtual at::Tensor buffer(const ParamSpec& spec) = 0;
  // Takes in a contiguous fp32 leaf that exists already (of a torch::nn::Module). Its present values are its first values:
  // they must be a pure function of the seed. The host moves them into its own memory; the tensor object stays the same.
  enum class Role : std::uint8_t { parameter, buffer };
  virtual void adopt(const std::string& name, const at::Tensor& tensor, Role role) = 0;
  // What was registered under the full name, for layers that share a weight. UserError when nothing was.
  virtual at::Tensor registered(const std::string& name) const = 0;

 protected:
  ~Params() = default;
};

struct LinearSpec {
  std::int64_t in = 0;
  std::int64_t out = 0;
  bool bias = true;
  enum class Cut : std::uint8_t { none, column, row } cut = Cut::none;  // Megatron-LM (Shoeybi et al., 2019), section 3
  double init_std = 0.02;
};

struct Conv2dSpec {
  std::int64_t in = 0;
  std::int64_t out = 0;
  std::int64_t kernel = 3;
  std::int64_t stride = 1;
  std::int64_t padding = 1;
  bool bias = true;
};

struct AttentionSpec {
  std::int64_t hidden = 0;
  std::int64_t heads = 1;
  bool causal = true;
  double dropout = 0;
  bool bias = true;
  double output_init_std = 0.02;
};

class Build;

// Standard layers. Each registers its parameters below the Build's path.
class Layers {
 public:
  virtual LayerPtr linear(const Build& b, const LinearSpec& spec) = 0;           // x [..., in] -> [..., out]
  virtual LayerPtr embedding(const Build& b, std::int64_t rows, std::int64_t features, double init_std) = 0;  // ids -> [..., C]
  virtual LayerPtr layer_norm(const Build& b, std::int64_t features, double epsilon) = 0;
  virtual LayerPtr batch_norm2d(const Build& b, std::int64_t channels, double epsilon, double momentum) = 0;  // [B,C,h,w]
  virtual LayerPtr conv2d(const Build& b, const Conv2dSpec& spec) = 0;           // [B,C,h,w]
  virtual LayerPtr attention(const Build& b, const AttentionSpec& spec) = 0;     // self-attention [B,T,C] -> [B,T,C]
  virtual LayerPtr dropout(const Build& b, double probability) = 0;
  // x [B,T,C] -> logits [B,T,V]. `tied` is the [V,C] embedding to share, or an undefined tensor for a weight of its own.
  virtual LayerPtr lm_head(const Build& b, std::int64_t features, std::int64_t vocab, const at::Tensor& tied) = 0;

 protected:
  ~Layers() = default;
};

// Random numbers of the step in progress, keyed by (seed, step, sample position, `path`, `call`, element).
class Rng {
 public:
  // Mask of `shape` (first dimension: samples of `batch`): 0 with probability p, else 1 / (1 - p). fp32.
  virtual at::Tensor dropout_mask(at::IntArrayRef shape, double p, const Batch& batch, std::string_view path,
                                  std::uint32_t call) = 0;
  // Seed of libtorch's default generator for code that draws from it: keyed by (seed, `path`) while a model is built
  // (`batch` null), else by (seed, step, first sample position, `path`).
  virtual std::uint64_t generator_seed(std::string_view path, const Batch* batch) = 0;

 protected:
  ~Rng() = default;
};

// Operations with an implementation of the host's own where that is faster; same mathematics as the ATen ones.
class Ops {
 public:
  virtual at::Tensor gelu(const at::Tensor& x) = 0;  // the tanh form of GPT-2 (Hendrycks and Gimpel, 2016)
  virtual at::Tensor relu(const at::Tensor& x) = 0;

 protected:
  ~Ops() = default;
};

struct ModelServices {
  Params* params = nullptr;
  Layers* layers = nullptr;
  Rng* rng = nullptr;
  Ops* ops = nullptr;
};

// A place in the model's tree of names, with the services. A cheap value.
class Build {
 public:
  Build(const ModelServices& services, const DataInfo& data) : services_(services), data_(&data) {}

  Build operator/(std::string_view name) const {
    Build child = *this;
    if (!path_.empty()) child.path_ += '.';
    child.path_ += name;
    return child;
  }
  Build operator/(std::int64_t index) const { return *this / std::string_view(std::to_string(index)); }

  const std::string& path() const { return path_; }
  const DataInfo& data() const { return *data_; }
  Rng& rng() const { return *services_.rng; }
  Ops& ops() const { return *services_.ops; }

  at::Tensor param(std::string_view name, std::vector<std::int64_t> shape, Init init, int shard_dim = -1) const {
    return services_.params->param({(*this / name).path(), std::move(shape), init, shard_dim});
  }
  at::Tensor buffer(std::string_view name, std::vector<std::int64_t> shape, Init init) const {
    return services_.params->buffer({(*this / name).path(), std::move(shape), init, -1});
  }
  // A tensor that a layer below this place has registered, such as "tok.weight".
  at::Tensor registered(std::string_view name) const { return services_.params->registered((*this / name).path()); }
  void adopt(std::string_view name, const at::Tensor& tensor, Params::Role role) const {
    services_.params->adopt((*this / name).path(), tensor, role);
  }

  LayerPtr linear(std::string_view name, std::int64_t in, std::int64_t out, bool bias = true) const {
    return services_.layers->linear(*this / name, {.in = in, .out = out, .bias = bias});
  }
  LayerPtr linear(std::string_view name, const LinearSpec& spec) const {
    return services_.layers->linear(*this / name, spec);
  }
  LayerPtr column_linear(std::string_view name, std::int64_t in, std::int64_t out, bool bias = true) const {
    return linear(name, {.in = in, .out = out, .bias = bias, .cut = LinearSpec::Cut::column});
  }
  LayerPtr row_linear(std::string_view name, std::int64_t in, std::int64_t out, bool bias = true,
                      double init_std = 0.02) const {
    return linear(name, {.in = in, .out = out, .bias = bias, .cut = LinearSpec::Cut::row, .init_std = init_std});
  }
  LayerPtr embedding(std::string_view name, std::int64_t rows, std::int64_t features, double init_std = 0.02) const {
    return services_.layers->embedding(*this / name, rows, features, init_std);
  }
  LayerPtr layer_norm(std::string_view name, std::int64_t features, double epsilon = 1e-5) const {
    return services_.layers->layer_norm(*this / name, features, epsilon);
  }
  LayerPtr batch_norm2d(std::string_view name, std::int64_t channels, double epsilon = 1e-5, double momentum = 0.1) const {
    return services_.layers->batch_norm2d(*this / name, channels, epsilon, momentum);
  }
  LayerPtr conv2d(std::string_view name, const Conv2dSpec& spec) const {
    return services_.layers->conv2d(*this / name, spec);
  }
  LayerPtr attention(std::string_view name, const AttentionSpec& spec) const {
    return services_.layers->attention(*this / name, spec);
  }
  LayerPtr dropout(std::string_view name, double probability) const {
    return services_.layers->dropout(*this / name, probability);
  }
  LayerPtr lm_head(std::string_view name, std::int64_t features, std::int64_t vocab, const at::Tensor& tied = {}) const {
    return services_.layers->lm_head(*this / name, features, vocab, tied);
  }

 private:
  ModelServices services_;
  const DataInfo* data_;
  std::string path_;
};

// What a strategy may do with a model.
class Model {
 public:
  virtual ~Model() = default;

  // The output that the loss takes: logits [B,T,V] or [B,classes], or predictions.
  virtual at::Tensor forward(const Batch& batch) = 0;

  // The layers in order, for strategies that cut a model into stages; empty for a model that cannot be cut.
  virtual std::span<const LayerPtr> layers() const { return {}; }
};

// A model that is its list of layers.
class LayeredModel : public Model {
 public:
  at::Tensor forward(const Batch& batch) override {
    at::Tensor x = batch.at("input");
    for (const auto& layer : layers_) x = layer->forward(std::move(x), batch);
    return x;
  }
  std::span<const LayerPtr> layers() const override { return layers_; }

 protected:
  void add(LayerPtr layer) { layers_.push_back(std::move(layer)); }
  template <class T, class... Args>
  T& add(Args&&... args) {
    auto layer = std::make_unique<T>(std::forward<Args>(args)...);
    T& reference = *layer;
    layers_.push_back(std::move(layer));
    return reference;
  }

 private:
  std::vector<LayerPtr> layers_;
};

struct ModelKind {
  static constexpr std::string_view name = "model";
  using Interface = Model;
  using Context = Build;
  static constexpr std::string tag() { return abi::tag(DTRAIN_ABI_HASH_MODEL, kTorchVersion); }
};

// T's constructor takes (Build, const Options&).
template <class T, class Options = NoOptions>
constexpr ComponentDeclaration model(std::string_view name) {
  return component<ModelKind, T, Options>(name);
}

}  // namespace dtrain
