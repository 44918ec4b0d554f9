// SPDX-License-Identifier: Apache-2.0
//
// Differentiable operations with fused kernels. Parameters' gradients go straight to their destination (gradient.h).
// fp32, CPU. Thread: the one that trains.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "core/nn/kernels/kernels.h"

namespace dtrain::functions {

// x [..., in] -> [..., out]; weight [out, in]; bias [out] or undefined.
at::Tensor linear(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias, const kernels::Kernels& k);

// ids [...] (int64) -> [..., C]; weight [rows, C]. UserError naming `name` for an id outside [0, rows).
at::Tensor embedding(const at::Tensor& ids, const at::Tensor& weight, const char* name);

// Over the last dimension; gamma and beta [C].
at::Tensor layer_norm(const at::Tensor& x, const at::Tensor& gamma, const at::Tensor& beta, double epsilon,
                      const kernels::Kernels& k);

at::Tensor gelu(const at::Tensor& x, const kernels::Kernels& k);

// qkv [B,T,3C] -> [B,T,C], scores scaled by 1/sqrt(C/heads). mask [B,H,T,T] multiplies the probabilities, or is
// undefined.
at::Tensor attention(const at::Tensor& qkv, std::int64_t heads, bool causal, const at::Tensor& mask,
                     const kernels::Kernels& k);

}  // namespace dtrain::functions
