// SPDX-License-Identifier: Apache-2.0
//
// Self-attention, one head at a time, a block of queries at a time. See kernels.h for the contracts.
//
// A head's queries, keys, values and output gradients are copied into dense tiles, padded with zeros to whole tiles, so
// the matrix products need no remainders. With a causal mask every product leaves out the tiles that are zero.
#pragma once

#include "core/nn/kernels/kernels.h"
#include "core/nn/kernels/vector.h"

namespace dtrain::kernels {
namespace {

constexpr std::int64_t kTileRows = 4;
constexpr std::int64_t kTileCols = 2 * kWidth;
constexpr std::int64_t kBlockRows = 32;  // queries of a block: its scores stay in the second-level cache

constexpr std::int64_t round_up(std::int64_t n, std::int64_t unit) {
  return (n + unit - 1) / unit * unit;
}

// c[4 x 2*kWidth] (+)= a[4 x k] * b[k x 2*kWidth]; a's element (m, i) is at a[m * a_row + i * a_col].
template <bool kAdd>
[[gnu::always_inline]] inline void tile(std::int64_t k, const float* a, std::int64_t a_row, std::int64_t a_col,
                                        const float* b, std::int64_t b_row, float* c, std::int64_t c_row) {
  Vec acc[kTileRows][2];
  for (std::int64_t m = 0; m < kTileRows; ++m) {
    acc[m][0] = kAdd ? load(c + m * c_row) : Vec{};
    acc[m][1] = kAdd ? load(c + m * c_row + kWidth) : Vec{};
  }
  for (std::int64_t i = 0; i < k; ++i) {
    const Vec b0 = load(b + i * b_row);
    const Vec b1 = load(b + i * b_row + kWidth);
    for (std::int64_t m = 0; m < kTileRows; ++m) {
      const Vec x = splat(a[m * a_row + i * a_col]);
      acc[m][0] += x * b0;
      acc[m][1] += x * b1;
    }
  }
  for (std::int64_t m = 0; m < kTileRows; ++m) {
    store(c + m * c_row, acc[m][0]);
    store(c + m * c_row + kWidth, acc[m][1]);
  }
}

// The sizes of one head after padding, and where its parts are in one scratch array.
struct Head {
  explicit Head(const AttentionShape& s)
      : tokens(s.tokens),
        size(s.head_size),
        causal(s.causal),
        rows(round_up(s.tokens, kTileCols)),
        cols(round_up(s.head_size, kTileCols)),
        scores_row(rows + 16) {}  // not a power of two, whose columns would share a few cache sets

  std::int64_t tokens, size;
  bool causal;
  std::int64_t rows, cols;  // padded tokens and features
  std::int64_t scores_row;  // floats from one query's scores to the next one's

  // Keys that the queries [first, first + kTileRows) may see.
  std::int64_t keys_of(std::int64_t first) const {
    const std::int64_t end = causal ? first + kTileRows : tokens;
    return end < tokens ? end : tokens;
  }
};

// dst [rows x cols] = src [tokens x size] with `stride` floats between tokens, zero elsewhere.
void pack(const Head& h, const float* src, std::int64_t stride, float* dst) {
  for (std::int64_t t = 0; t < h.rows; ++t, dst += h.cols) {
    const std::int64_t used = t < h.tokens ? h.size : 0;
    for (std::int64_t d = 0; d < used; ++d) dst[d] = src[t * stride + d];
    for (std::int64_t d = used; d < h.cols; ++d) dst[d] = 0;
  }
}

// dst [size x rows] = the transpose.
void pack_transposed(const Head& h, const float* src, std::int64_t stride, float* dst) {
  for (std::int64_t d = 0; d < h.size; ++d) {
    float* row = dst + d * h.rows;
    for (std::int64_t t = 0; t < h.tokens; ++t) row[t] = src[t * stride + d];
    for (std::int64_t t = h.tokens; t < h.rows; ++t) row[t] = 0;
  }
}

void unpack(const Head& h, const float* src, std::int64_t count, float* dst, std::int64_t stride) {
  for (std::int64_t t = 0; t < count; ++t) {
    for (std::int64_t d = 0; d < h.size; ++d) dst[t * stride + d] = src[t * h.cols + d];
  }
}

// scores [kBlockRows x scores_row] = x [queries of the block] * y^T, for the keys that count; y is given transposed.
void multiply_scores(const Head& h, std::int64_t first, const float* x, const float* y_transposed, float* scores) {
  for (std::int64_t r = 0; r < kBlockRows && first + r < h.tokens; r += kTileRows) {
    const std::int64_t keys = h.keys_of(first + r);
    for (std::int64_t j = 0; j < keys; j += kTileCols) {
      tile<false>(h.size, x + (first + r) * h.cols, h.cols, 1, y_transposed + j, h.rows, scores + r * h.scores_row + j,
                  h.scores_row);
    }
  }
}

// out [kBlockRows x cols] = weights [kBlockRows x keys] * y [keys x cols].
void multiply_values(const Head& h, std::int64_t first, const float* weights, const float* y, float* out) {
  for (std::int64_t r = 0; r < kBlockRows && first + r < h.tokens; r += kTileRows) {
    const std::int64_t keys = h.keys_of(first + r);
    for (std::int64_t d = 0; d < h.cols; d += kTileCols) {
      tile<false>(keys, weights + r * h.scores_row, h.scores_row, 1, y + d, h.cols, out + r * h.cols + d, h.cols);
    }
  }
}

// out [rows x cols] += weights^T [keys x queries of the block] * x [queries of the block].
void add_transposed(const Head& h, std::int64_t first, const float* weights, const float* x, float* out) {
  const std::int64_t end = first + kBlockRows < h.tokens ? first + kBlockRows : h.tokens;
  const std::int64_t keys = h.causal ? end : h.tokens;
  for (std::int64_t j = 0; j < keys; j += kTileRows) {
    const std::int64_t from = h.causal && j > first ? j : first;  // earlier queries do not see key j
    for (std::int64_t d = 0; d < h.cols; d += kTileCols) {
      tile<true>(end - from, weights + (from - first) * h.scores_row + j, 1, h.scores_row, x + from * h.cols + d,
                 h.cols, out + j * h.cols + d, h.cols);
    }
  }
}

// One query's scores -> exp(scale * s - shift); zeros from `keys` to `padded`. Returns the sum.
[[gnu::always_inline]] inline float exponentials(float* s, std::int64_t keys, std::int64_t padded, float scale,
                                                 float shift) {
  for (std::int64_t j = keys; j < padded; ++j) s[j] = -__builtin_inff();
  Vec total{};
  for (std::int64_t j = 0; j < padded; j += kWidth) {
    const Vec x = load(s + j) * scale - shift;
    const Vec e = select(x < -87.0f, Vec{}, exp(x));
    total += e;
    store(s + j, e);
  }
  return sum(total);
}

[[gnu::always_inline]] inline float largest_of(const float* s, std::int64_t keys) {
  Vec best = splat(s[0]);
  std::int64_t j = 0;
  for (; j + kWidth <= keys; j += kWidth) best = max(best, load(s + j));
  float m = largest(best);
  for (; j < keys; ++j) m = s[j] > m ? s[j] : m;
  return m;
}

[[gnu::always_inline]] inline void multiply(float* s, const float* mask, std::int64_t keys) {
  for (std::int64_t j = 0; j < keys; ++j) s[j] *= mask[j];
}

// Keys that query t sees.
[[gnu::always_inline]] inline std::int64_t keys_of_query(const Head& h, std::int64_t t) {
  return h.causal ? t + 1 : h.tokens;
}

void head_forward(const Head& h, float scale, const float* q, const float* k_transposed, const float* v,
                  const float* mask, float* scores, float* block, float* out, std::int64_t out_row, float* lse) {
  for (std::int64_t first = 0; first < h.tokens; first += kBlockRows) {
    const std::int64_t count = h.tokens - first < kBlockRows ? h.tokens - first : kBlockRows;
    multiply_scores(h, first, q, k_transposed, scores);
    float inverse[kBlockRows];
    for (std::int64_t r = 0; r < count; ++r) {
      float* s = scores + r * h.scores_row;
      const std::int64_t keys = keys_of_query(h, first + r);
      const float shift = scale * largest_of(s, keys);
      const float total = exponentials(s, keys, round_up(keys + kTileRows, kWidth), scale, shift);
      lse[first + r] = shift + __builtin_logf(total);
      inverse[r] = 1.0f / total;
      if (mask != nullptr) multiply(s, mask + (first + r) * h.tokens, keys);
    }
    multiply_values(h, first, scores, v, block);
    for (std::int64_t r = 0; r < count; ++r) {
      for (std::int64_t d = 0; d < h.size; ++d) out[(first + r) * out_row + d] = block[r * h.cols + d] * inverse[r];
    }
  }
}

// p: probabilities, replaced by the weights that multiplied the values; g: gradient of those weights, replaced by the
// gradient of the unscaled scores. Softmax's Jacobian: ds = p * (dp - sum(p * dp)).
[[gnu::always_inline]] inline void softmax_backward(float* p, float* g, const float* mask, std::int64_t keys,
                                                    std::int64_t padded, float scale) {
  if (mask != nullptr) multiply(g, mask, keys);
  for (std::int64_t j = keys; j < padded; ++j) g[j] = 0;
  Vec total{};
  for (std::int64_t j = 0; j < padded; j += kWidth) total += load(p + j) * load(g + j);
  const float mean = sum(total);
  for (std::int64_t j = 0; j < padded; j += kWidth) store(g + j, load(p + j) * (load(g + j) - mean) * scale);
  if (mask != nullptr) multiply(p, mask, keys);
}

std::int64_t attention_scratch(const AttentionShape& shape) {
  const Head h(shape);
  return 7 * h.rows * h.cols + kBlockRows * (2 * h.scores_row + h.cols);
}

void attention_forward(const AttentionShape& shape, const float* qkv, const float* mask, float* out, float* lse,
                       float* scratch) {
  const Head h(shape);
  const std::int64_t width = shape.heads * shape.head_size;
  const std::int64_t stride = 3 * width;
  const std::int64_t part = h.rows * h.cols;
  float* q = scratch;
  float* k_transposed = q + part;
  float* v = k_transposed + part;
  float* scores = v + part;
  float* block = scores + kBlockRows * h.scores_row;
  for (std::int64_t b = 0; b < shape.batch; ++b) {
    for (std::int64_t n = 0; n < shape.heads; ++n) {
      const float* src = qkv + b * shape.tokens * stride + n * shape.head_size;
      const std::int64_t index = b * shape.heads + n;
      pack(h, src, stride, q);
      pack_transposed(h, src + width, stride, k_transposed);
      pack(h, src + 2 * width, stride, v);
      head_forward(h, shape.scale, q, k_transposed, v,
                   mask == nullptr ? nullptr : mask + index * shape.tokens * shape.tokens, scores, block,
                   out + b * shape.tokens * width + n * shape.head_size, width, lse + index * shape.tokens);
    }
  }
}

void attention_backward(const AttentionShape& shape, const float* qkv, const float* mask, const float* lse,
                        const float* grad_out, float* grad_qkv, float* scratch) {
  const Head h(shape);
  const std::int64_t width = shape.heads * shape.head_size;
  const std::int64_t stride = 3 * width;
  const std::int64_t part = h.rows * h.cols;
  float* q = scratch;
  float* k = q + part;
  float* k_transposed = k + part;
  float* v_transposed = k_transposed + part;
  float* g = v_transposed + part;
  float* gk = g + part;
  float* gv = gk + part;
  float* p = gv + part;
  float* gs = p + kBlockRows * h.scores_row;
  float* block = gs + kBlockRows * h.scores_row;
  for (std::int64_t b = 0; b < shape.batch; ++b) {
    for (std::int64_t n = 0; n < shape.heads; ++n) {
      const std::int64_t offset = b * shape.tokens * stride + n * shape.head_size;
      const std::int64_t index = b * shape.heads + n;
      const float* row_mask = mask == nullptr ? nullptr : mask + index * shape.tokens * shape.tokens;
      pack(h, qkv + offset, stride, q);
      pack(h, qkv + offset + width, stride, k);
      pack_transposed(h, qkv + offset + width, stride, k_transposed);
      pack_transposed(h, qkv + offset + 2 * width, stride, v_transposed);
      pack(h, grad_out + b * shape.tokens * width + n * shape.head_size, width, g);
      for (std::int64_t i = 0; i < 2 * part; ++i) gk[i] = 0;
      for (std::int64_t first = 0; first < h.tokens; first += kBlockRows) {
        const std::int64_t count = h.tokens - first < kBlockRows ? h.tokens - first : kBlockRows;
        multiply_scores(h, first, q, k_transposed, p);
        multiply_scores(h, first, g, v_transposed, gs);
        for (std::int64_t r = 0; r < count; ++r) {
          const std::int64_t keys = keys_of_query(h, first + r);
          const std::int64_t padded = round_up(keys + kTileRows, kWidth);
          exponentials(p + r * h.scores_row, keys, padded, shape.scale, lse[index * shape.tokens + first + r]);
          softmax_backward(p + r * h.scores_row, gs + r * h.scores_row,
                           row_mask == nullptr ? nullptr : row_mask + (first + r) * h.tokens, keys, padded,
                           shape.scale);
        }
        multiply_values(h, first, gs, k, block);
        unpack(h, block, count, grad_qkv + offset + first * stride, stride);
        add_transposed(h, first, gs, q, gk);
        add_transposed(h, first, p, g, gv);
      }
      unpack(h, gk, h.tokens, grad_qkv + offset + width, stride);
      unpack(h, gv, h.tokens, grad_qkv + offset + 2 * width, stride);
    }
  }
}

}  // namespace
}  // namespace dtrain::kernels
