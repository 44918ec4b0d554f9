// SPDX-License-Identifier: Apache-2.0
//
// A multi-layer perceptron: input [B,...] flattened -> hidden layers with ReLU -> outputs [B,out].
#include <dtrain/model.h>

#include <cmath>

namespace {

namespace dt = dtrain;

struct Options {
  std::vector<std::int64_t> hidden_sizes = {64};
  std::int64_t outputs = 0;

  constexpr void describe(dt::Schema& s) {
    s.identity("hidden_sizes", hidden_sizes, dt::range(1, 1 << 20), "features of each hidden layer");
    s.identity("outputs", outputs, dt::range(0, 1 << 20), "outputs; 0: the number of classes of the data");
  }
};

struct Flatten : dt::Layer {
  at::Tensor forward(at::Tensor x, const dt::Batch&) override { return x.flatten(1); }
};

struct Hidden : dt::Layer {
  Hidden(const dt::Build& build, std::string_view name, std::int64_t in, std::int64_t out)
      : b(build),
        linear(build.linear(name, {.in = in, .out = out, .init_std = std::sqrt(2.0 / static_cast<double>(in))})) {}
  at::Tensor forward(at::Tensor x, const dt::Batch& batch) override {
    return b.ops().relu(linear->forward(std::move(x), batch));
  }
  dt::Build b;
  dt::LayerPtr linear;
};

struct Mlp : dt::LayeredModel {
  Mlp(const dt::Build& b, const Options& o) {
    const auto* input = b.data().find("input");
    if (input == nullptr || input->type != dt::DType::f32) {
      throw dt::UserError("model mlp: the data have no field 'input' of f32",
                          "use a data set of numbers, or another model");
    }
    auto features = static_cast<std::int64_t>(input->elements());
    const auto outputs = o.outputs > 0 ? o.outputs : b.data().num_classes;
    if (outputs <= 0) throw dt::UserError("model mlp: the data have no classes", "set model.outputs");
    add<Flatten>();
    for (std::size_t i = 0; i < o.hidden_sizes.size(); ++i) {
      add<Hidden>(b, "hidden" + std::to_string(i), features, o.hidden_sizes[i]);
      features = o.hidden_sizes[i];
    }
    add(b.linear("output",
                 {.in = features, .out = outputs, .init_std = std::sqrt(1.0 / static_cast<double>(features))}));
  }
};

}  // namespace

DTRAIN_PLUGIN("mlp", "0.1.0", dt::model<Mlp, Options>("mlp"))
