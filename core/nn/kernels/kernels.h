// SPDX-License-Identifier: Apache-2.0
//
// Fused CPU kernels in fp32, one table for each instruction set. Independent of libtorch.
//
// All arrays are dense, row-major fp32. Results are a pure function of the inputs and of the instruction set: no
// threads, a fixed order of additions.
#pragma once

#include <cstdint>

namespace dtrain::kernels {

// Self-attention of T tokens with H heads of D features, over the fused projection qkv [B,T,3*H*D] (all queries, then
// all keys, then all values of a token).
struct AttentionShape {
  std::int64_t batch = 0;
  std::int64_t tokens = 0;
  std::int64_t heads = 0;
  std::int64_t head_size = 0;
  bool causal = true;
  float scale = 1;
};

struct Kernels {
  const char* instruction_set;

  // y = (x - mean) * rstd * gamma + beta over the last dimension; mean and rstd [rows] are kept for the backward pass.
  void (*layer_norm_forward)(const float* x, const float* gamma, const float* beta, float epsilon, std::int64_t rows,
                             std::int64_t cols, float* y, float* mean, float* rstd);
  // Writes gx; adds to ggamma and gbeta row by row.
  void (*layer_norm_backward)(const float* gy, const float* x, const float* mean, const float* rstd, const float* gamma,
                              std::int64_t rows, std::int64_t cols, float* gx, float* ggamma, float* gbeta);

  // The tanh form (Hendrycks and Gimpel, 2016).
  void (*gelu_forward)(const float* x, std::int64_t count, float* y);
  void (*gelu_backward)(const float* gy, const float* x, std::int64_t count, float* gx);

  // out[c] += sum over rows of x[r][c].
  void (*add_column_sums)(const float* x, std::int64_t rows, std::int64_t cols, float* out);

  // out[i] = 0 where draw i is below `threshold`, else `scale`. Draw i is word (i / 16) % 4 of the Philox block with
  // counter {16 * (i / 64) + i % 16 (64 bits), 0, call}.
  void (*dropout_mask)(std::uint64_t key, std::uint32_t call, std::uint32_t threshold, float scale, std::int64_t count,
                       float* out);

  // out [B,T,H*D] = (softmax(scale * Q K^T) * mask) V; lse [B,H,T] keeps the logarithm of the softmax denominators.
  // mask [B,H,T,T] may be null. `scratch` has attention_scratch(shape) floats, O(T * D). Tiled after Dao et al.,
  // "FlashAttention" (2022), with the probabilities recomputed in the backward pass.
  std::int64_t (*attention_scratch)(const AttentionShape& shape);
  void (*attention_forward)(const AttentionShape& shape, const float* qkv, const float* mask, float* out, float* lse,
                            float* scratch);
  void (*attention_backward)(const AttentionShape& shape, const float* qkv, const float* mask, const float* lse,
                             const float* grad_out, float* grad_qkv, float* scratch);
};

// The best table for this machine's processor. Constant during a process.
const Kernels& best();

extern const Kernels kBaseline;
#if defined(__x86_64__)
extern const Kernels kAvx2;
extern const Kernels kAvx512;
#endif

}  // namespace dtrain::kernels
