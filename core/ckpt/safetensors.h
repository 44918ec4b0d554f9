// SPDX-License-Identifier: Apache-2.0
//
// The safetensors format (https://github.com/huggingface/safetensors#format): u64 header size, a JSON header that gives
// dtype, shape and byte range of each tensor, then the tensors' bytes without gaps. Little endian.
#pragma once

#include <dtrain/dtype.h>
#include <dtrain/store.h>

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/ckpt/tensor_slice.h"

namespace dtrain {

// The limit of the reference implementation.
inline constexpr std::uint64_t kMaxSafetensorsHeader = 100'000'000;

struct SafetensorsEntry {
  std::string name;
  DType type = DType::f32;
  std::vector<std::int64_t> shape;
  std::uint64_t begin = 0, end = 0;  // bytes from the beginning of the file
};

struct SafetensorsHeader {
  std::vector<SafetensorsEntry> tensors;  // in the order of their bytes
  std::map<std::string, std::string, std::less<>> metadata;

  const SafetensorsEntry* find(std::string_view name) const;
};

// Reads and checks the header; nothing outside [0, file.size()) is ever read. UserError that names `label`, the tensor
// and what is wrong: truncated, header size beyond the file or the limit, not JSON, duplicate name, unknown dtype, a
// range that does not fit its dtype and shape, overlaps another, leaves a gap or ends elsewhere than the file does.
SafetensorsHeader read_safetensors_header(const ObjectReader& file, std::string_view label);

// The same for a header that is already in memory: `json` are the bytes after the header size.
SafetensorsHeader parse_safetensors_header(std::string_view json, std::uint64_t file_size, std::string_view label);

// What a file of `slices` looks like: `prefix` (size, header and padding to 64 bytes), then the data of the slices in
// `order`. Wider types come first, so that every tensor is aligned to its element size.
struct SafetensorsLayout {
  std::string prefix;
  std::vector<std::size_t> order;
  std::uint64_t bytes = 0;  // of the whole file
};

// Names (see slice_key) must be distinct and data sizes right: else InvariantError.
SafetensorsLayout lay_out_safetensors(std::span<const TensorSlice> slices,
                                      const std::map<std::string, std::string>& metadata);

}  // namespace dtrain
