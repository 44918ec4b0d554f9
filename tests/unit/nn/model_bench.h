// SPDX-License-Identifier: Apache-2.0
//
// A model's workshop with memory for values and gradients, as the trainer lays them out.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <vector>

#include "core/nn/model_workshop.h"

namespace dtrain::test {

class Bench {
 public:
  explicit Bench(std::uint64_t seed = 1) : workshop(seed), seed_(seed) {}
  Bench(std::uint64_t seed, const kernels::Kernels& k) : workshop(seed, k), seed_(seed) {}

  Build build() { return workshop.build(data); }

  // Gives every entry its first values and, where it is trained, a zero gradient.
  void bind() {
    auto& table = workshop.parameters();
    for (std::size_t i = 0; i < table.entries().size(); ++i) {
      const auto& entry = table.entries()[i];
      values.emplace_back(entry.elements);
      table.initial_values(i, seed_, values.back());
      table.bind(i, values.back().data());
      grads.emplace_back(entry.elements, 0.0f);
      if (!entry.buffer) table.bind_grad(i, grads.back().data());
    }
  }

  at::Tensor tensor(std::string_view name) { return workshop.parameters().find(name)->tensor; }

  ModelWorkshop workshop;
  DataInfo data;
  std::vector<std::vector<float>> values;
  std::vector<std::vector<float>> grads;

 private:
  std::uint64_t seed_;
};

inline Batch batch_of(at::Tensor input, bool training = true, std::int64_t first_position = 0, std::int64_t step = 0) {
  Batch batch;
  batch.size = input.size(0);
  batch.training = training;
  batch.first_position = first_position;
  batch.step = step;
  batch.fields.emplace_back("input", std::move(input));
  return batch;
}

// |a - b| <= absolute + relative * |b| everywhere.
inline bool close(const at::Tensor& a, const at::Tensor& b, double relative = 1e-4, double absolute = 1e-5) {
  return at::allclose(a.to(at::kDouble), b.to(at::kDouble), relative, absolute);
}

}  // namespace dtrain::test
