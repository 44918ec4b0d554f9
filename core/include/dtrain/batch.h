// SPDX-License-Identifier: Apache-2.0
//
// One micro-batch as models, losses and metrics see it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

#include <dtrain/error.h>

namespace dtrain {

struct Batch {
  // One tensor a field of the data set, first dimension = samples. Integer fields narrower than 64 bits arrive as int64.
  std::vector<std::pair<std::string, at::Tensor>> fields;

  std::int64_t size = 0;            // samples
  std::int64_t first_position = 0;  // of this micro-batch's first sample within the step; the others follow
  std::int64_t step = 0;            // data step: with first_position it keys the random numbers
  bool training = true;

  bool has(std::string_view name) const {
    for (const auto& field : fields) {
      if (field.first == name) return true;
    }
    return false;
  }
  const at::Tensor& at(std::string_view name) const {
    for (const auto& field : fields) {
      if (field.first == name) return field.second;
    }
    throw UserError("the batch has no field '" + std::string(name) + "'",
                    "choose a data set that provides it; `dtrain data show RECIPE` lists the fields");
  }
};

}  // namespace dtrain
