// SPDX-License-Identifier: Apache-2.0
//
// How tensors come into checkpoints and out of them: as ranges of the flattened (row-major) elements of a named tensor.
// Whole tensors are the range [0, number of elements). The names are the caller's; by convention parameters are
// "model.<parameter>", buffers "buffer.<name>", optimizer slots "optimizer.<slot>.<parameter>".
#pragma once

#include <dtrain/dtype.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace dtrain {

struct TensorSlice {
  std::string name;
  DType type = DType::f32;
  std::vector<std::int64_t> shape;  // of the whole tensor
  std::int64_t offset = 0;          // first element
  std::int64_t count = 0;           // elements
  std::span<const std::byte>
      data;  // count * size_of(type) bytes, little endian; alive until the call that takes it ends
};

// Where a loaded slice goes.
struct TensorTarget {
  std::string name;
  DType type = DType::f32;
  std::vector<std::int64_t> shape;
  std::int64_t offset = 0;
  std::int64_t count = 0;
  std::span<std::byte> data;
};

// Elements of a shape; nothing when a dimension is negative or the elements would not fit into 2^62 bytes of `type`.
std::optional<std::int64_t> element_count(std::span<const std::int64_t> shape, DType type);

// "F32 [2, 3]", for messages.
std::string describe(DType type, std::span<const std::int64_t> shape);

// The name that a slice has inside a file: the tensor's own when whole, else "name[offset:end]" of shape [count], so
// that every safetensors reader can open every file.
std::string slice_key(const std::string& name, std::int64_t offset, std::int64_t count, std::int64_t elements);

}  // namespace dtrain
