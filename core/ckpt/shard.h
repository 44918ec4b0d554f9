// SPDX-License-Identifier: Apache-2.0
//
// One rank's part of a save.
#pragma once

#include <dtrain/store.h>

#include <cstdint>
#include <span>
#include <string>

#include "core/ckpt/manifest.h"
#include "core/ckpt/tensor_slice.h"

namespace dtrain {

inline constexpr std::uint64_t kChunkBytes = 1 << 20;  // of checksums, and of the pieces in which files are written

// Writes `slices` as `<folder>/rank-<rank>.safetensors` in one pass, checksums included; returns when the file is
// durable. Empty slices of tensors that have elements are left out. `step` goes into the metadata and to the fault
// points ckpt.shard.begin (nothing written), ckpt.shard.middle (half of the file) and ckpt.shard.end (durable).
// RecoverableError (store_unavailable) with the file's name, its whole size and the store's own text; no file remains.
FileEntry write_shard(Store& store, const std::string& folder, int rank, std::int64_t step,
                      std::span<const TensorSlice> slices);

}  // namespace dtrain
