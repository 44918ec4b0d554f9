// SPDX-License-Identifier: Apache-2.0
#include "core/nn/keyed_rng.h"

#include <ATen/ATen.h>
#include <dtrain/error.h>
#include <dtrain/rng.h>

#include <cmath>
#include <string>

namespace dtrain {
namespace {

std::uint64_t word(std::int64_t value) {
  return static_cast<std::uint64_t>(value);
}

}  // namespace

at::Tensor KeyedRng::dropout_mask(at::IntArrayRef shape, double p, const Batch& batch, std::string_view path,
                                  std::uint32_t call) {
  DTRAIN_CHECK(p >= 0 && p < 1, std::to_string(p));
  DTRAIN_CHECK(!shape.empty() && shape[0] == batch.size, "the first dimension of a mask is that of the batch");
  at::Tensor mask = at::empty(shape, at::TensorOptions().dtype(at::kFloat));
  if (batch.size == 0) return mask;
  const std::int64_t elements = mask.numel() / batch.size;
  const auto threshold = static_cast<std::uint32_t>(std::llround(p * 0x1.0p32));
  const auto scale = static_cast<float>(1.0 / (1.0 - p));
  const auto layer = rng::mix(rng::mix(rng::key(seed_, "dropout"), word(batch.step)), rng::hash(path));
  float* out = mask.data_ptr<float>();
  for (std::int64_t sample = 0; sample < batch.size; ++sample, out += elements) {
    kernels_->dropout_mask(rng::mix(layer, word(batch.first_position + sample)), call, threshold, scale, elements, out);
  }
  return mask;
}

std::uint64_t KeyedRng::generator_seed(std::string_view path, const Batch* batch) {
  const auto place = rng::mix(rng::key(seed_, "generator"), rng::hash(path));
  if (batch == nullptr) return place;
  return rng::mix(rng::mix(place, word(batch->step)), word(batch->first_position));
}

}  // namespace dtrain
