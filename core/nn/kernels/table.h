// SPDX-License-Identifier: Apache-2.0
//
// All kernels as compiled for the including file's instruction set.
#pragma once

#include "core/nn/kernels/attention.h"
#include "core/nn/kernels/elementwise.h"
#include "core/nn/kernels/kernels.h"
#include "core/nn/kernels/layer_norm.h"

namespace dtrain::kernels {
namespace {

constexpr Kernels table(const char* instruction_set) {
  return {.instruction_set = instruction_set,
          .layer_norm_forward = &layer_norm_forward,
          .layer_norm_backward = &layer_norm_backward,
          .gelu_forward = &gelu_forward,
          .gelu_backward = &gelu_backward,
          .add_column_sums = &add_column_sums,
          .dropout_mask = &dropout_mask,
          .attention_scratch = &attention_scratch,
          .attention_forward = &attention_forward,
          .attention_backward = &attention_backward};
}

}  // namespace
}  // namespace dtrain::kernels
