// SPDX-License-Identifier: Apache-2.0
//
// Metrics as accumulators in double. The host merges them in the same fixed tree as gradients, so a value does not depend on
// the number of ranks.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include <ATen/core/Tensor.h>

#include <dtrain/abi.h>
#include <dtrain/batch.h>
#include <dtrain/data.h>
#include <dtrain/loss.h>
#include <dtrain/plugin.h>

namespace dtrain {

struct MetricContext {
  const DataInfo* data = nullptr;
};

// Thread: the one that trains.
class Metric {
 public:
  virtual ~Metric() = default;

  virtual std::size_t width() const = 0;  // doubles of one accumulator; it starts as zeros
  virtual bool higher_is_better() const = 0;

  // Adds one micro-batch. `loss` is what the objective returned for it.
  virtual void add(const at::Tensor& output, const Batch& batch, const LossValue& loss,
                   std::span<double> accumulator) const = 0;
  virtual void merge(std::span<double> into, std::span<const double> other) const {
    for (std::size_t i = 0; i < into.size(); ++i) into[i] += other[i];
  }
  virtual double finish(std::span<const double> accumulator) const = 0;
};

struct MetricKind {
  static constexpr std::string_view name = "metric";
  using Interface = Metric;
  using Context = MetricContext;
  static constexpr std::string tag() { return abi::tag(DTRAIN_ABI_HASH_METRIC, kTorchVersion); }
};

template <class T, class Options = NoOptions>
constexpr ComponentDeclaration metric(std::string_view name) {
  return component<MetricKind, T, Options>(name);
}

}  // namespace dtrain
