// SPDX-License-Identifier: Apache-2.0
#include "core/ckpt/manifest.h"

#include <dtrain/error.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <map>
#include <optional>

#include "core/base/hash.h"
#include "core/ckpt/tensor_slice.h"

namespace dtrain {

std::string hex64(std::uint64_t value) {
  std::string out(16, '0');
  for (auto i = out.size(); i-- > 0; value >>= 4) out[i] = "0123456789abcdef"[value & 15];
  return out;
}

std::optional<std::string> coverage_problem(const TensorRecord& tensor) {
  const auto elements = element_count(tensor.shape, tensor.type);
  if (!elements) return "impossible shape " + describe(tensor.type, tensor.shape);
  std::int64_t cursor = 0;
  for (const auto& slice : tensor.slices) {
    if (slice.offset != cursor || slice.count > *elements - cursor) {
      return "elements from " + std::to_string(std::min(cursor, slice.offset)) + " on are held twice or not at all";
    }
    cursor += slice.count;
  }
  if (tensor.slices.empty() || cursor != *elements) {
    return "the slices hold " + std::to_string(cursor) + " of its " + std::to_string(*elements) + " elements";
  }
  return std::nullopt;
}

void add_files(Manifest& manifest, std::span<const FileEntry> entries) {
  DTRAIN_CHECK(manifest.files.empty() && manifest.tensors.empty());
  std::map<std::string, TensorRecord> tensors;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    for (const auto& file : manifest.files) DTRAIN_CHECK(file.name != entries[i].file.name, file.name);
    manifest.files.push_back(entries[i].file);
    for (const auto& slice : entries[i].slices) {
      auto [it, added] = tensors.try_emplace(slice.name, TensorRecord{slice.name, slice.type, slice.shape, {}});
      DTRAIN_CHECK(it->second.type == slice.type && it->second.shape == slice.shape,
                   "ranks disagree about " + slice.name);
      it->second.slices.push_back({i, slice.offset, slice.count});
    }
  }
  for (auto& [name, tensor] : tensors) {
    std::ranges::sort(tensor.slices, {}, &SliceRecord::offset);
    const auto problem = coverage_problem(tensor);
    DTRAIN_CHECK(!problem, name + ": " + *problem);
    manifest.tensors.push_back(std::move(tensor));
  }
}

}  // namespace dtrain
