// SPDX-License-Identifier: Apache-2.0
#include <ATen/ATen.h>
#include <dtrain/torch_compat.h>
#include <torch/csrc/autograd/custom_function.h>

#include "core/nn/functions.h"
#include "core/nn/gradient.h"

namespace dtrain::functions {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

at::Tensor rows_of(const at::Tensor& x) {
  return x.reshape({-1, x.size(-1)});
}

struct Linear : torch::autograd::Function<Linear> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x, const at::Tensor& weight,
                            const OptionalTensor& maybe_bias, const kernels::Kernels* k) {
    const at::Tensor bias = maybe_bias.value_or(at::Tensor());
    ctx->save_for_backward({x, weight, bias});
    ctx->saved_data["kernels"] = reinterpret_cast<std::int64_t>(k);
    auto shape = x.sizes().vec();
    shape.back() = weight.size(0);
    const auto x2 = rows_of(x);
    const auto y = bias.defined() ? at::addmm(bias, x2, weight.t()) : at::mm(x2, weight.t());
    return y.view(shape);
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    require_first_order();
    const auto saved = ctx->get_saved_variables();
    const auto& weight = saved[1];
    const auto& bias = saved[2];
    const auto& k = *reinterpret_cast<const kernels::Kernels*>(ctx->saved_data["kernels"].toInt());
    const auto g = rows_of(grads[0].contiguous());
    if (weight.requires_grad()) gradient_of(weight).addmm_(g.t(), rows_of(saved[0]));
    if (bias.defined() && bias.requires_grad()) {
      k.add_column_sums(g.data_ptr<float>(), g.size(0), g.size(1), gradient_of(bias).data_ptr<float>());
    }
    at::Tensor gx;
    if (ctx->needs_input_grad(0)) gx = at::mm(g, weight).view(saved[0].sizes());
    return {gx, {}, {}, {}};
  }
};

}  // namespace

at::Tensor linear(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias, const kernels::Kernels& k) {
  return Linear::apply(x, weight, optional_tensor(bias), &k);
}

}  // namespace dtrain::functions
