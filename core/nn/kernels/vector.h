// SPDX-License-Identifier: Apache-2.0
//
// A vector of floats with the operations that the kernels need. Compiled once for each instruction set, so everything
// is local to the including file and nothing of the standard library that could be shared with other files is used.
#pragma once

#include <cstdint>

// Floats in a vector. A test sets it to try the widest code on any machine.
#if !defined(DTRAIN_VECTOR_WIDTH)
#if defined(__AVX512F__)
#define DTRAIN_VECTOR_WIDTH 16
#else
#define DTRAIN_VECTOR_WIDTH 8
#endif
#endif

namespace dtrain::kernels {
namespace {

constexpr std::int64_t kWidth = DTRAIN_VECTOR_WIDTH;
typedef float Vec __attribute__((vector_size(DTRAIN_VECTOR_WIDTH * sizeof(float))));
typedef std::int32_t VecInt __attribute__((vector_size(DTRAIN_VECTOR_WIDTH * sizeof(float))));

[[gnu::always_inline]] inline Vec load(const float* p) {
  Vec v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}
[[gnu::always_inline]] inline void store(float* p, Vec v) {
  __builtin_memcpy(p, &v, sizeof v);
}
[[gnu::always_inline]] inline Vec splat(float x) {
  return Vec{} + x;
}

// The first `count` < kWidth elements; the others are zero.
[[gnu::always_inline]] inline Vec load_part(const float* p, std::int64_t count) {
  Vec v{};
  for (std::int64_t i = 0; i < count; ++i) v[i] = p[i];
  return v;
}
[[gnu::always_inline]] inline void store_part(float* p, Vec v, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) p[i] = v[i];
}

[[gnu::always_inline]] inline Vec select(VecInt condition, Vec yes, Vec no) {
  return condition ? yes : no;
}
[[gnu::always_inline]] inline Vec max(Vec a, Vec b) {
  return select(a > b, a, b);
}
[[gnu::always_inline]] inline Vec min(Vec a, Vec b) {
  return select(a < b, a, b);
}

[[gnu::always_inline]] inline float sum(Vec v) {
  float part[kWidth];
  store(part, v);
  for (std::int64_t n = kWidth / 2; n > 0; n /= 2) {
    for (std::int64_t i = 0; i < n; ++i) part[i] += part[i + n];
  }
  return part[0];
}
[[gnu::always_inline]] inline float largest(Vec v) {
  float best = v[0];
  for (std::int64_t i = 1; i < kWidth; ++i) best = v[i] > best ? v[i] : best;
  return best;
}

// e^x to about 1 ulp on [-87, 88]; clamped outside; NaN stays NaN. Cody and Waite's range reduction, then the
// polynomial of Cephes' expf.
[[gnu::always_inline]] inline Vec exp(Vec x) {
  constexpr float kRound = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer in the low mantissa bits
  x = select(x > 88.0f, splat(88.0f), x);
  x = select(x < -87.0f, splat(-87.0f), x);
  const Vec shifted = x * 1.44269504088896341f + kRound;
  const Vec n = shifted - kRound;
  const Vec r = (x - n * 0.693359375f) - n * -2.12194440e-4f;
  Vec p = splat(1.9875691500e-4f);
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * r * r + r + 1.0f;
  const VecInt exponent = __builtin_convertvector(n, VecInt) << 23;
  return (Vec)((VecInt)p + exponent);
}

}  // namespace
}  // namespace dtrain::kernels
