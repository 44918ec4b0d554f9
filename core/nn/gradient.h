// SPDX-License-Identifier: Apache-2.0
//
// Where a layer's backward pass puts the gradient of a parameter.
#pragma once

#include <ATen/ATen.h>
#include <dtrain/error.h>
#include <torch/csrc/autograd/custom_function.h>

namespace dtrain {

// Called by every backward pass: the fused kernels leave no graph, so a second differentiation would silently miss
// them.
inline void require_first_order() {
  DTRAIN_CHECK(!at::GradMode::is_enabled(), "gradients of gradients are not supported by the standard layers");
}

// The destination of `parameter`'s gradient: what the owner bound (ParameterTable::bind_grad), else fresh zeros. A
// layer adds into it in place and returns an undefined gradient to autograd, which then neither allocates nor copies;
// the parameter's AccumulateGrad node still runs when its last use is done, and reports it.
inline at::Tensor& gradient_of(const at::Tensor& parameter) {
  at::Tensor& gradient = parameter.mutable_grad();
  if (!gradient.defined()) gradient = at::zeros(parameter.sizes(), parameter.options());
  return gradient;
}

}  // namespace dtrain
