// SPDX-License-Identifier: Apache-2.0
#include <ATen/ATen.h>
#include <dtrain/error.h>
#include <dtrain/torch_compat.h>
#include <torch/csrc/autograd/custom_function.h>

#include <cmath>

#include "core/nn/functions.h"
#include "core/nn/gradient.h"

namespace dtrain::functions {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

kernels::AttentionShape shape_of(const at::Tensor& qkv, std::int64_t heads, bool causal) {
  const auto head_size = qkv.size(2) / 3 / heads;
  return {.batch = qkv.size(0),
          .tokens = qkv.size(1),
          .heads = heads,
          .head_size = head_size,
          .causal = causal,
          .scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(head_size)))};
}

const float* pointer_to(const at::Tensor& mask) {
  return mask.defined() ? mask.data_ptr<float>() : nullptr;
}

struct Attention : torch::autograd::Function<Attention> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& qkv, std::int64_t heads, bool causal,
                            const OptionalTensor& maybe_mask, const kernels::Kernels* k) {
    const at::Tensor mask = maybe_mask.value_or(at::Tensor());
    const auto shape = shape_of(qkv, heads, causal);
    const auto options = qkv.options().requires_grad(false);
    auto out = at::empty({shape.batch, shape.tokens, heads * shape.head_size}, options);
    auto lse = at::empty({shape.batch, heads, shape.tokens}, options);
    auto scratch = at::empty({k->attention_scratch(shape)}, options);
    k->attention_forward(shape, qkv.data_ptr<float>(), pointer_to(mask), out.data_ptr<float>(), lse.data_ptr<float>(),
                         scratch.data_ptr<float>());
    ctx->save_for_backward({qkv, mask, lse});
    ctx->saved_data["heads"] = heads;
    ctx->saved_data["causal"] = causal;
    ctx->saved_data["kernels"] = reinterpret_cast<std::int64_t>(k);
    return out;
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    require_first_order();
    const auto saved = ctx->get_saved_variables();
    const auto& qkv = saved[0];
    const auto& k = *reinterpret_cast<const kernels::Kernels*>(ctx->saved_data["kernels"].toInt());
    const auto shape = shape_of(qkv, ctx->saved_data["heads"].toInt(), ctx->saved_data["causal"].toBool());
    const auto g = grads[0].contiguous();
    auto gqkv = at::empty_like(qkv, at::MemoryFormat::Contiguous);
    auto scratch = at::empty({k.attention_scratch(shape)}, g.options());
    k.attention_backward(shape, qkv.data_ptr<float>(), pointer_to(saved[1]), saved[2].data_ptr<float>(),
                         g.data_ptr<float>(), gqkv.data_ptr<float>(), scratch.data_ptr<float>());
    return {gqkv, {}, {}, {}, {}};
  }
};

}  // namespace

at::Tensor attention(const at::Tensor& qkv, std::int64_t heads, bool causal, const at::Tensor& mask,
                     const kernels::Kernels& k) {
  DTRAIN_CHECK(qkv.dim() == 3 && qkv.size(2) % (3 * heads) == 0, "qkv is [B,T,3C] with C a multiple of the heads");
  return Attention::apply(qkv.contiguous(), heads, causal, optional_tensor(mask), &k);
}

}  // namespace dtrain::functions
