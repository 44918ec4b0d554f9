// SPDX-License-Identifier: Apache-2.0
//
// The arithmetic of reductions, for communication backends that compute themselves: out[i] = a[i] op b[i], for every
// element type and operation. Independent of libtorch. 16-bit floats are combined in fp32 and rounded to nearest even;
// integers wrap; max and min give a NaN when either side is one.
#pragma once

#include <dtrain/comm.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace dtrain {

constexpr float bf16_to_float(std::uint16_t value) {
  return std::bit_cast<float>(std::uint32_t{value} << 16);
}

constexpr std::uint16_t float_to_bf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if (value != value) return static_cast<std::uint16_t>((bits >> 16) | 0x40);  // quiet, so that it stays a NaN
  return static_cast<std::uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

// IEEE 754 binary16.
constexpr float half_to_float(std::uint16_t value) {
  const std::uint32_t sign = (value & 0x8000u) << 16, rest = value & 0x7fffu;
  if (rest >= 0x7c00) return std::bit_cast<float>(sign | 0x7f800000 | (rest & 0x3ff) << 13);  // infinity, NaN
  // The exponents' biases differ by 112; the product is exact, for subnormal numbers too.
  const float magnitude = std::bit_cast<float>(rest << 13) * 0x1p112f;
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(magnitude) | sign);
}

constexpr std::uint16_t float_to_half(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000);
  const std::uint32_t magnitude = bits & 0x7fffffff;
  std::uint32_t half = 0;
  if (magnitude > 0x7f800000) {
    half = 0x7e00;
  } else if (magnitude >= 0x477ff000) {  // 65520 and more round to infinity
    half = 0x7c00;
  } else if (magnitude < 0x38800000) {  // below 2^-14 the spacing is 2^-24, which is that of floats in [0.5, 1)
    half = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) - std::bit_cast<std::uint32_t>(0.5f);
  } else {
    half = (magnitude - (112u << 23) + 0xfff + ((magnitude >> 13) & 1)) >> 13;
  }
  return static_cast<std::uint16_t>(sign | half);
}

namespace detail {

template <ReduceOp op, class T>
constexpr T combined(T a, T b) {
  if constexpr (op == ReduceOp::sum) {
    if constexpr (std::is_integral_v<T>) {
      using Unsigned = std::make_unsigned_t<T>;
      return static_cast<T>(static_cast<Unsigned>(a) + static_cast<Unsigned>(b));
    } else {
      return a + b;
    }
  } else if constexpr (op == ReduceOp::max) {
    return a > b || a != a ? a : b;
  } else {
    return a < b || a != a ? a : b;
  }
}

template <ReduceOp op, class T>
void combine_as(void* out, const void* a, const void* b, std::size_t count) {
  auto* to = static_cast<T*>(out);
  const auto *left = static_cast<const T*>(a), *right = static_cast<const T*>(b);
  for (std::size_t i = 0; i < count; ++i) to[i] = combined<op, T>(left[i], right[i]);
}

template <ReduceOp op>
void combine_16(void* out, const void* a, const void* b, std::size_t count, float (*widen)(std::uint16_t),
                std::uint16_t (*narrow)(float)) {
  auto* to = static_cast<std::uint16_t*>(out);
  const auto *left = static_cast<const std::uint16_t*>(a), *right = static_cast<const std::uint16_t*>(b);
  for (std::size_t i = 0; i < count; ++i) to[i] = narrow(combined<op, float>(widen(left[i]), widen(right[i])));
}

template <ReduceOp op>
void combine(void* out, const void* a, const void* b, std::size_t count, DType type) {
  switch (type) {
    case DType::f32:
      return combine_as<op, float>(out, a, b, count);
    case DType::f64:
      return combine_as<op, double>(out, a, b, count);
    case DType::f16:
      return combine_16<op>(out, a, b, count, half_to_float, float_to_half);
    case DType::bf16:
      return combine_16<op>(out, a, b, count, bf16_to_float, float_to_bf16);
    case DType::i64:
      return combine_as<op, std::int64_t>(out, a, b, count);
    case DType::i32:
      return combine_as<op, std::int32_t>(out, a, b, count);
    case DType::u16:
      return combine_as<op, std::uint16_t>(out, a, b, count);
    case DType::u8:
      return combine_as<op, std::uint8_t>(out, a, b, count);
  }
}

}  // namespace detail

// `out` may be `a` or `b`. Each points to `count` elements.
inline void combine(void* out, const void* a, const void* b, std::size_t count, DType type, ReduceOp op) {
  switch (op) {
    case ReduceOp::sum:
      return detail::combine<ReduceOp::sum>(out, a, b, count, type);
    case ReduceOp::max:
      return detail::combine<ReduceOp::max>(out, a, b, count, type);
    case ReduceOp::min:
      return detail::combine<ReduceOp::min>(out, a, b, count, type);
  }
}

}  // namespace dtrain
