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

// Which of the batch's integer targets count: those that are not negative and whose "mask", where the data have one, is not
// zero. Bool, the shape of `targets`.
inline at::Tensor counted_targets(const at::Tensor& targets, const Batch& batch) {
  auto counted = targets >= 0;
  if (batch.has("mask")) {
    const auto& mask = batch.at("mask");
    if (mask.numel() != targets.numel()) {
      throw UserError("the field 'mask' has " + std::to_string(mask.numel()) + " elements, 'target' has " +
                          std::to_string(targets.numel()),
                      "a mask has one element for each target");
    }
    counted.logical_and_(mask.reshape(targets.sizes()) != 0);
  }
  return counted;
}

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
