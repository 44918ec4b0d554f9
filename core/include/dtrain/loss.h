// SPDX-License-Identifier: Apache-2.0
//
// Objectives. A loss is a sum and a weight, never a mean: the host divides the sum over all micro-batches and ranks by the
// sum of the weights, once, so that every token or sample counts the same however the batch is cut.
#pragma once

#include <string>
#include <string_view>

#include <ATen/core/Tensor.h>

#include <dtrain/abi.h>
#include <dtrain/batch.h>
#include <dtrain/data.h>
#include <dtrain/plugin.h>
#include <dtrain/torch_compat.h>

namespace dtrain {

struct LossContext {
  const DataInfo* data = nullptr;
};

struct LossValue {
  at::Tensor sum;     // scalar, differentiable
  double weight = 0;  // tokens or samples that count; 0 when none does (sum is then a differentiable 0)
};

// Thread: the one that trains.
class Loss {
 public:
  virtual ~Loss() = default;
  virtual LossValue forward(const at::Tensor& output, const Batch& batch) = 0;
};

struct LossKind {
  static constexpr std::string_view name = "loss";
  using Interface = Loss;
  using Context = LossContext;
  static constexpr std::string tag() { return abi::tag(DTRAIN_ABI_HASH_LOSS, kTorchVersion); }
};

template <class T, class Options = NoOptions>
constexpr ComponentDeclaration loss(std::string_view name) {
  return component<LossKind, T, Options>(name);
}

}  // namespace dtrain
