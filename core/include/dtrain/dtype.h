// SPDX-License-Identifier: Apache-2.0
//
// Element types as comm, data and checkpoints name them. Independent of libtorch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace dtrain {

enum class DType : std::uint8_t { f32, f64, f16, bf16, i64, i32, u16, u8 };

// Bytes of one element.
constexpr std::size_t size_of(DType type) {
  switch (type) {
    case DType::f64:
    case DType::i64:
      return 8;
    case DType::f32:
    case DType::i32:
      return 4;
    case DType::f16:
    case DType::bf16:
    case DType::u16:
      return 2;
    case DType::u8:
      return 1;
  }
  return 0;
}

// The name in the safetensors format (https://github.com/huggingface/safetensors): F32, BF16, I64 ...
constexpr std::string_view name_of(DType type) {
  switch (type) {
    case DType::f32:
      return "F32";
    case DType::f64:
      return "F64";
    case DType::f16:
      return "F16";
    case DType::bf16:
      return "BF16";
    case DType::i64:
      return "I64";
    case DType::i32:
      return "I32";
    case DType::u16:
      return "U16";
    case DType::u8:
      return "U8";
  }
  return "?";
}

constexpr std::optional<DType> dtype_of(std::string_view name) {
  for (auto type : {DType::f32, DType::f64, DType::f16, DType::bf16, DType::i64, DType::i32, DType::u16, DType::u8}) {
    if (name_of(type) == name) return type;
  }
  return std::nullopt;
}

}  // namespace dtrain
