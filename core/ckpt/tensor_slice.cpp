// SPDX-License-Identifier: Apache-2.0
#include "core/ckpt/tensor_slice.h"

namespace dtrain {

std::optional<std::int64_t> element_count(std::span<const std::int64_t> shape, DType type) {
  constexpr std::int64_t kMaxBytes = std::int64_t{1} << 62;
  std::int64_t count = 1;
  bool empty = false;
  for (const auto dimension : shape) {
    if (dimension < 0) return std::nullopt;
    if (dimension == 0) {
      empty = true;
    } else if (__builtin_mul_overflow(count, dimension, &count)) {
      return std::nullopt;
    }
  }
  if (count > kMaxBytes / static_cast<std::int64_t>(size_of(type))) return std::nullopt;
  return empty ? 0 : count;
}

std::string describe(DType type, std::span<const std::int64_t> shape) {
  std::string out = std::string(name_of(type)) + " [";
  for (std::size_t i = 0; i < shape.size(); ++i) out += (i == 0 ? "" : ", ") + std::to_string(shape[i]);
  return out + "]";
}

std::string slice_key(const std::string& name, std::int64_t offset, std::int64_t count, std::int64_t elements) {
  if (offset == 0 && count == elements) return name;
  return name + "[" + std::to_string(offset) + ":" + std::to_string(offset + count) + "]";
}

}  // namespace dtrain
