// SPDX-License-Identifier: Apache-2.0
//
// Layer normalisation (Ba, Kiros, Hinton, 2016). See kernels.h for the contracts.
#pragma once

#include "core/nn/kernels/vector.h"

namespace dtrain::kernels {
namespace {

// Calls part(vector index c, lanes n) over a row; n is kWidth except perhaps for the last part.
template <class Part>
[[gnu::always_inline]] inline void over_row(std::int64_t cols, Part part) {
  std::int64_t c = 0;
  for (; c + kWidth <= cols; c += kWidth) part(c, kWidth);
  if (c < cols) part(c, cols - c);
}

[[gnu::always_inline]] inline Vec load_some(const float* p, std::int64_t lanes) {
  return lanes == kWidth ? load(p) : load_part(p, lanes);
}
[[gnu::always_inline]] inline Vec keep(Vec v, std::int64_t lanes) {
  for (std::int64_t i = lanes; i < kWidth; ++i) v[i] = 0;
  return v;
}
[[gnu::always_inline]] inline void store_some(float* p, Vec v, std::int64_t lanes) {
  if (lanes == kWidth) {
    store(p, v);
  } else {
    store_part(p, v, lanes);
  }
}

void layer_norm_forward(const float* x, const float* gamma, const float* beta, float epsilon, std::int64_t rows,
                        std::int64_t cols, float* y, float* mean, float* rstd) {
  const float inverse = 1.0f / static_cast<float>(cols);
  for (std::int64_t r = 0; r < rows; ++r, x += cols, y += cols) {
    Vec total{};
    over_row(cols, [&](std::int64_t c, std::int64_t n) { total += load_some(x + c, n); });
    const float m = sum(total) * inverse;
    // Deviations from the mean, so that a large mean does not swallow a small variance.
    Vec squares{};
    over_row(cols, [&](std::int64_t c, std::int64_t n) {
      const Vec d = keep(load_some(x + c, n) - m, n);
      squares += d * d;
    });
    const float s = 1.0f / __builtin_sqrtf(sum(squares) * inverse + epsilon);
    over_row(cols, [&](std::int64_t c, std::int64_t n) {
      store_some(y + c, (load_some(x + c, n) - m) * s * load_some(gamma + c, n) + load_some(beta + c, n), n);
    });
    mean[r] = m;
    rstd[r] = s;
  }
}

void layer_norm_backward(const float* gy, const float* x, const float* mean, const float* rstd, const float* gamma,
                         std::int64_t rows, std::int64_t cols, float* gx, float* ggamma, float* gbeta) {
  const float inverse = 1.0f / static_cast<float>(cols);
  for (std::int64_t r = 0; r < rows; ++r, x += cols, gy += cols, gx += cols) {
    const float m = mean[r];
    const float s = rstd[r];
    Vec sum_g{};
    Vec sum_gx{};
    over_row(cols, [&](std::int64_t c, std::int64_t n) {
      const Vec g = load_some(gy + c, n);  // zero in unused lanes
      const Vec normal = (load_some(x + c, n) - m) * s;
      const Vec scaled = g * load_some(gamma + c, n);
      sum_g += scaled;
      sum_gx += scaled * normal;
      store_some(ggamma + c, load_some(ggamma + c, n) + g * normal, n);
      store_some(gbeta + c, load_some(gbeta + c, n) + g, n);
    });
    const float mean_g = sum(sum_g) * inverse;
    const float mean_gx = sum(sum_gx) * inverse;
    over_row(cols, [&](std::int64_t c, std::int64_t n) {
      const Vec normal = (load_some(x + c, n) - m) * s;
      store_some(gx + c, (load_some(gy + c, n) * load_some(gamma + c, n) - mean_g - normal * mean_gx) * s, n);
    });
  }
}

}  // namespace
}  // namespace dtrain::kernels
