// SPDX-License-Identifier: Apache-2.0
#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include "core/nn/functions.h"
#include "core/nn/gradient.h"

namespace dtrain::functions {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

struct LayerNorm : torch::autograd::Function<LayerNorm> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x, const at::Tensor& gamma, const at::Tensor& beta,
                            double epsilon, const kernels::Kernels* k) {
    const auto cols = x.size(-1);
    const auto rows = x.numel() / cols;
    auto y = at::empty_like(x, at::MemoryFormat::Contiguous);
    auto statistics = at::empty({2, rows}, y.options());
    auto* mean = statistics.data_ptr<float>();
    k->layer_norm_forward(x.data_ptr<float>(), gamma.data_ptr<float>(), beta.data_ptr<float>(),
                          static_cast<float>(epsilon), rows, cols, y.data_ptr<float>(), mean, mean + rows);
    ctx->save_for_backward({x, gamma, beta, statistics});
    ctx->saved_data["kernels"] = reinterpret_cast<std::int64_t>(k);
    return y;
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    require_first_order();
    const auto saved = ctx->get_saved_variables();
    const auto& x = saved[0];
    const auto& gamma = saved[1];
    const auto& beta = saved[2];
    const auto& k = *reinterpret_cast<const kernels::Kernels*>(ctx->saved_data["kernels"].toInt());
    const auto cols = x.size(-1);
    const auto rows = x.numel() / cols;
    const auto g = grads[0].contiguous();
    auto gx = at::empty_like(x, at::MemoryFormat::Contiguous);
    // A frozen parameter has no destination: its gradient goes to memory that is dropped.
    const auto ggamma = gamma.requires_grad() ? gradient_of(gamma) : at::zeros_like(gamma);
    const auto gbeta = beta.requires_grad() ? gradient_of(beta) : at::zeros_like(beta);
    const auto* mean = saved[3].data_ptr<float>();
    k.layer_norm_backward(g.data_ptr<float>(), x.data_ptr<float>(), mean, mean + rows, gamma.data_ptr<float>(), rows,
                          cols, gx.data_ptr<float>(), ggamma.data_ptr<float>(), gbeta.data_ptr<float>());
    return {gx, {}, {}, {}, {}};
  }
};

struct Gelu : torch::autograd::Function<Gelu> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x, const kernels::Kernels* k) {
    ctx->save_for_backward({x});
    ctx->saved_data["kernels"] = reinterpret_cast<std::int64_t>(k);
    auto y = at::empty_like(x);
    k->gelu_forward(x.data_ptr<float>(), x.numel(), y.data_ptr<float>());
    return y;
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    require_first_order();
    const auto x = ctx->get_saved_variables()[0];
    const auto& k = *reinterpret_cast<const kernels::Kernels*>(ctx->saved_data["kernels"].toInt());
    const auto g = grads[0].contiguous();
    auto gx = at::empty_like(x);
    k.gelu_backward(g.data_ptr<float>(), x.data_ptr<float>(), x.numel(), gx.data_ptr<float>());
    return {gx, {}};
  }
};

}  // namespace

at::Tensor layer_norm(const at::Tensor& x, const at::Tensor& gamma, const at::Tensor& beta, double epsilon,
                      const kernels::Kernels& k) {
  return LayerNorm::apply(x.contiguous(), gamma, beta, epsilon, &k);
}

at::Tensor gelu(const at::Tensor& x, const kernels::Kernels& k) {
  return Gelu::apply(x.contiguous(), &k);
}

}  // namespace dtrain::functions
