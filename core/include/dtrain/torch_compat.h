// SPDX-License-Identifier: Apache-2.0
//
// The only file that may test the version of libtorch. Everything else is written once for all versions.
#pragma once

#include <optional>

#include <ATen/ATen.h>
#include <torch/version.h>

#define DTRAIN_TORCH_STRING_(x) #x
#define DTRAIN_TORCH_STRING(x) DTRAIN_TORCH_STRING_(x)

namespace dtrain {

// "1.13.1": the release that this file was compiled against.
inline constexpr const char* kTorchVersion = DTRAIN_TORCH_STRING(TORCH_VERSION_MAJOR) "." DTRAIN_TORCH_STRING(
    TORCH_VERSION_MINOR) "." DTRAIN_TORCH_STRING(TORCH_VERSION_PATCH);

// An argument of a custom autograd function that may be absent. Undefined tensors are passed as std::nullopt: autograd accepts
// no undefined variable among the inputs.
#if TORCH_VERSION_MAJOR >= 2
using OptionalTensor = std::optional<at::Tensor>;
#else
using OptionalTensor = c10::optional<at::Tensor>;
#endif
inline OptionalTensor optional_tensor(const at::Tensor& tensor) {
  return tensor.defined() ? OptionalTensor(tensor) : OptionalTensor();
}

}  // namespace dtrain
