// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dtrain/model.h>

#include "core/nn/kernels/kernels.h"

namespace dtrain {

// The standard layers without tensor parallelism: column- and row-cut linear layers are plain ones. See model.h for
// shapes. Names of tensors follow torch.nn: weight, bias, running_mean, running_var; attention has qkv and out.
class StandardLayers final : public Layers {
 public:
  explicit StandardLayers(const kernels::Kernels& kernels) : kernels_(&kernels) {}

  LayerPtr linear(const Build& b, const LinearSpec& spec) override;
  LayerPtr embedding(const Build& b, std::int64_t rows, std::int64_t features, double init_std) override;
  LayerPtr layer_norm(const Build& b, std::int64_t features, double epsilon) override;
  LayerPtr batch_norm2d(const Build& b, std::int64_t channels, double epsilon, double momentum) override;
  LayerPtr conv2d(const Build& b, const Conv2dSpec& spec) override;
  LayerPtr attention(const Build& b, const AttentionSpec& spec) override;
  LayerPtr dropout(const Build& b, double probability) override;
  LayerPtr lm_head(const Build& b, std::int64_t features, std::int64_t vocab, const at::Tensor& tied) override;

 private:
  const kernels::Kernels* kernels_;
};

class StandardOps final : public Ops {
 public:
  explicit StandardOps(const kernels::Kernels& kernels) : kernels_(&kernels) {}
  at::Tensor gelu(const at::Tensor& x) override;
  at::Tensor relu(const at::Tensor& x) override;

 private:
  const kernels::Kernels* kernels_;
};

}  // namespace dtrain
