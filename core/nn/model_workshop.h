// SPDX-License-Identifier: Apache-2.0
//
// All that a model is built from, for one seed.
#pragma once

#include <dtrain/model.h>

#include <cstdint>

#include "core/nn/keyed_rng.h"
#include "core/nn/parameter_table.h"
#include "core/nn/standard_layers.h"

namespace dtrain {

// Outlives the model that is built with its services. Thread: the one that trains.
//
//   ModelWorkshop workshop(plan.seed);
//   auto model = loader.create<ModelKind>(plan.model.name, workshop.build(data_info), plan.model.options);
//   for (const auto& entry : workshop.parameters().entries()) ...   // lay out, fill, bind
class ModelWorkshop {
 public:
  explicit ModelWorkshop(std::uint64_t seed) : ModelWorkshop(seed, kernels::best()) {}
  ModelWorkshop(std::uint64_t seed, const kernels::Kernels& kernels)
      : rng_(seed, kernels), layers_(kernels), ops_(kernels) {}
  ModelWorkshop(const ModelWorkshop&) = delete;
  ModelWorkshop& operator=(const ModelWorkshop&) = delete;

  ModelServices services() { return {.params = &parameters_, .layers = &layers_, .rng = &rng_, .ops = &ops_}; }
  Build build(const DataInfo& data) { return {services(), data}; }

  ParameterTable& parameters() { return parameters_; }
  const ParameterTable& parameters() const { return parameters_; }

 private:
  ParameterTable parameters_;
  KeyedRng rng_;
  StandardLayers layers_;
  StandardOps ops_;
};

}  // namespace dtrain
