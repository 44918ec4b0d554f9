// SPDX-License-Identifier: Apache-2.0
#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include <cstring>
#include <string>

#include "core/nn/functions.h"
#include "core/nn/gradient.h"

namespace dtrain::functions {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

struct Embedding : torch::autograd::Function<Embedding> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& ids, const at::Tensor& weight) {
    ctx->save_for_backward({ids, weight});
    auto shape = ids.sizes().vec();
    const auto features = weight.size(1);
    shape.push_back(features);
    auto y = at::empty(shape, weight.options().requires_grad(false));
    const auto* id = ids.data_ptr<std::int64_t>();
    const auto* table = weight.data_ptr<float>();
    auto* out = y.data_ptr<float>();
    for (std::int64_t i = 0; i < ids.numel(); ++i) {
      std::memcpy(out + i * features, table + id[i] * features, static_cast<std::size_t>(features) * sizeof(float));
    }
    return y;
  }

  // In the order of the ids, so that equal ids always add up in the same order.
  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    require_first_order();
    const auto saved = ctx->get_saved_variables();
    const auto& weight = saved[1];
    const auto g = grads[0].contiguous();
    const auto features = weight.size(1);
    const auto* id = saved[0].data_ptr<std::int64_t>();
    const auto* in = g.data_ptr<float>();
    auto* out = gradient_of(weight).data_ptr<float>();
    for (std::int64_t i = 0; i < saved[0].numel(); ++i) {
      float* row = out + id[i] * features;
      for (std::int64_t c = 0; c < features; ++c) row[c] += in[i * features + c];
    }
    return {{}, {}};
  }
};

}  // namespace

at::Tensor embedding(const at::Tensor& ids, const at::Tensor& weight, const char* name) {
  const auto dense = ids.to(at::kLong).contiguous();
  const auto* id = dense.data_ptr<std::int64_t>();
  for (std::int64_t i = 0; i < dense.numel(); ++i) {
    if (id[i] < 0 || id[i] >= weight.size(0)) {
      throw UserError("embedding '" + std::string(name) + "': the batch has the id " + std::to_string(id[i]) +
                          "; ids are in [0, " + std::to_string(weight.size(0)) + ")",
                      "the data and the model disagree about the vocabulary: check [tokenizer] and [data]");
    }
  }
  return Embedding::apply(dense, weight);
}

}  // namespace dtrain::functions
