// SPDX-License-Identifier: Apache-2.0
//
// GELU, column sums and dropout masks. See kernels.h for the contracts.
#pragma once

#include "core/nn/kernels/vector.h"

namespace dtrain::kernels {
namespace {

// 0.5 * (1 + tanh(u)) = 1 / (1 + exp(-2u)) with u = sqrt(2/pi) * (x + 0.044715 x^3).
constexpr float kTwiceRoot = 1.5957691216057308f;  // 2 * sqrt(2/pi)
constexpr float kCubic = 0.044715f;

[[gnu::always_inline]] inline Vec gelu_gate(Vec x) {
  return 1.0f / (1.0f + exp(-kTwiceRoot * (x + kCubic * x * x * x)));
}

[[gnu::always_inline]] inline Vec gelu(Vec x) {
  return x * gelu_gate(x);
}

[[gnu::always_inline]] inline Vec gelu_slope(Vec x) {
  const Vec gate = gelu_gate(x);
  return gate + x * gate * (1.0f - gate) * (kTwiceRoot * (1.0f + 3.0f * kCubic * x * x));
}

void gelu_forward(const float* x, std::int64_t count, float* y) {
  std::int64_t i = 0;
  for (; i + kWidth <= count; i += kWidth) store(y + i, gelu(load(x + i)));
  if (i < count) store_part(y + i, gelu(load_part(x + i, count - i)), count - i);
}

void gelu_backward(const float* gy, const float* x, std::int64_t count, float* gx) {
  std::int64_t i = 0;
  for (; i + kWidth <= count; i += kWidth) store(gx + i, load(gy + i) * gelu_slope(load(x + i)));
  if (i < count) {
    const Vec g = load_part(gy + i, count - i) * gelu_slope(load_part(x + i, count - i));
    store_part(gx + i, g, count - i);
  }
}

void add_column_sums(const float* x, std::int64_t rows, std::int64_t cols, float* out) {
  constexpr std::int64_t kStrip = 4 * kWidth;  // columns kept in registers while the rows pass
  std::int64_t c = 0;
  for (; c + kStrip <= cols; c += kStrip) {
    Vec s0{}, s1{}, s2{}, s3{};
    for (std::int64_t r = 0; r < rows; ++r) {
      const float* p = x + r * cols + c;
      s0 += load(p);
      s1 += load(p + kWidth);
      s2 += load(p + 2 * kWidth);
      s3 += load(p + 3 * kWidth);
    }
    store(out + c, load(out + c) + s0);
    store(out + c + kWidth, load(out + c + kWidth) + s1);
    store(out + c + 2 * kWidth, load(out + c + 2 * kWidth) + s2);
    store(out + c + 3 * kWidth, load(out + c + 3 * kWidth) + s3);
  }
  for (; c < cols; ++c) {
    float s = 0;
    for (std::int64_t r = 0; r < rows; ++r) s += x[r * cols + c];
    out[c] += s;
  }
}

// Sixteen Philox4x32-10 blocks with consecutive counters; words[w][i] is word w of block i. The same function as
// rng::philox, written so that the compiler turns each loop into vector code.
void philox16(std::uint64_t key, std::uint64_t block, std::uint32_t call, std::uint32_t (&words)[4][16]) {
  auto k0 = static_cast<std::uint32_t>(key);
  auto k1 = static_cast<std::uint32_t>(key >> 32);
  for (int i = 0; i < 16; ++i) {
    const std::uint64_t counter = block + static_cast<std::uint64_t>(i);
    words[0][i] = static_cast<std::uint32_t>(counter);
    words[1][i] = static_cast<std::uint32_t>(counter >> 32);
    words[2][i] = 0;
    words[3][i] = call;
  }
  for (int round = 0; round < 10; ++round) {
    for (int i = 0; i < 16; ++i) {
      const std::uint64_t p0 = std::uint64_t{0xD2511F53u} * words[0][i];
      const std::uint64_t p1 = std::uint64_t{0xCD9E8D57u} * words[2][i];
      words[0][i] = static_cast<std::uint32_t>(p1 >> 32) ^ words[1][i] ^ k0;
      words[2][i] = static_cast<std::uint32_t>(p0 >> 32) ^ words[3][i] ^ k1;
      words[1][i] = static_cast<std::uint32_t>(p1);
      words[3][i] = static_cast<std::uint32_t>(p0);
    }
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
}

void dropout_mask(std::uint64_t key, std::uint32_t call, std::uint32_t threshold, float scale, std::int64_t count,
                  float* out) {
  std::uint32_t words[4][16];
  for (std::int64_t first = 0; first < count; first += 64) {
    philox16(key, static_cast<std::uint64_t>(first / 64) * 16, call, words);
    const std::uint32_t* draws = &words[0][0];
    const std::int64_t n = count - first < 64 ? count - first : 64;
    for (std::int64_t i = 0; i < n; ++i) out[first + i] = draws[i] < threshold ? 0.0f : scale;
  }
}

}  // namespace
}  // namespace dtrain::kernels
