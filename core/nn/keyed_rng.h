// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dtrain/model.h>

#include <cstdint>
#include <string_view>

#include "core/nn/kernels/kernels.h"

namespace dtrain {

// Random numbers as a pure function of (seed, step, sample position in the step, path, call, element): a sample's mask
// does not depend on the micro-batch it is in, nor on how often it is drawn. Any thread.
class KeyedRng final : public Rng {
 public:
  KeyedRng(std::uint64_t seed, const kernels::Kernels& kernels) : seed_(seed), kernels_(&kernels) {}

  at::Tensor dropout_mask(at::IntArrayRef shape, double p, const Batch& batch, std::string_view path,
                          std::uint32_t call) override;
  std::uint64_t generator_seed(std::string_view path, const Batch* batch) override;

 private:
  std::uint64_t seed_;
  const kernels::Kernels* kernels_;
};

}  // namespace dtrain
