// SPDX-License-Identifier: Apache-2.0
#include "core/ckpt/shard.h"

#include <dtrain/error.h>

#include <algorithm>

#include "core/base/fault.h"
#include "core/base/hash.h"
#include "core/ckpt/safetensors.h"

namespace dtrain {
namespace {

// Cuts a stream of bytes into pieces of a chunk for the store, and checksums each chunk on its way.
class ChunkedWriter {
 public:
  explicit ChunkedWriter(ObjectWriter& out) : out_(out) { pending_.reserve(kChunkBytes); }

  void write(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const auto piece = bytes.first(std::min<std::size_t>(bytes.size(), kChunkBytes - in_chunk_));
      hash_.update(piece);
      in_chunk_ += piece.size();
      total_ += piece.size();
      if (pending_.empty() && piece.size() == kChunkBytes) {
        out_.write(piece);
      } else {
        pending_.insert(pending_.end(), piece.begin(), piece.end());
      }
      if (in_chunk_ == kChunkBytes) end_chunk();
      bytes = bytes.subspan(piece.size());
    }
  }

  void flush() {
    if (!pending_.empty()) out_.write(pending_);
    pending_.clear();
  }

  void finish() {
    if (in_chunk_ > 0) end_chunk();
    out_.finish();
  }

  std::uint64_t total() const { return total_; }
  std::vector<std::uint64_t> checksums() && { return std::move(checksums_); }

 private:
  void end_chunk() {
    flush();
    checksums_.push_back(hash_.digest());
    hash_.reset();
    in_chunk_ = 0;
  }

  ObjectWriter& out_;
  Xxh3 hash_;
  std::vector<std::byte> pending_;
  std::vector<std::uint64_t> checksums_;
  std::size_t in_chunk_ = 0;  // bytes of the current chunk
  std::uint64_t total_ = 0;
};

// Writes `bytes` and visits the fault point when half of the file is with the store.
void write_with_fault(ChunkedWriter& writer, std::span<const std::byte> bytes, std::uint64_t half, int rank,
                      std::int64_t step) {
  if (writer.total() >= half || writer.total() + bytes.size() < half) {
    writer.write(bytes);
    return;
  }
  const auto before = static_cast<std::size_t>(half - writer.total());
  writer.write(bytes.first(before));
  writer.flush();
  fault::point("ckpt.shard.middle", rank, step);
  writer.write(bytes.subspan(before));
}

std::vector<TensorSlice> without_empty(std::span<const TensorSlice> slices) {
  std::vector<TensorSlice> out;
  std::ranges::copy_if(slices, std::back_inserter(out), [](const TensorSlice& slice) {
    return slice.count > 0 || element_count(slice.shape, slice.type) == 0;
  });
  return out;
}

}  // namespace

FileEntry write_shard(Store& store, const std::string& folder, int rank, std::int64_t step,
                      std::span<const TensorSlice> slices) {
  const auto kept = without_empty(slices);
  const auto layout = lay_out_safetensors(kept, {{"format", "pt"}, {"step", std::to_string(step)}});
  FileEntry entry;
  entry.file = {.name = "rank-" + std::to_string(rank) + ".safetensors",
                .bytes = layout.bytes,
                .chunk_bytes = kChunkBytes,
                .checksums = {}};
  fault::point("ckpt.shard.begin", rank, step);
  try {
    const auto object = store.create(folder + "/" + entry.file.name);
    ChunkedWriter writer(*object);
    write_with_fault(writer, std::as_bytes(std::span(layout.prefix)), layout.bytes / 2, rank, step);
    for (const auto index : layout.order) write_with_fault(writer, kept[index].data, layout.bytes / 2, rank, step);
    writer.finish();
    entry.file.checksums = std::move(writer).checksums();
  } catch (const RecoverableError& e) {
    throw RecoverableError(e.kind(), "checkpoint of step " + std::to_string(step) + ": " + entry.file.name + " needs " +
                                         std::to_string(layout.bytes) + " bytes: " + e.what());
  }
  for (const auto index : layout.order) {
    const auto& slice = kept[index];
    entry.slices.push_back({slice.name, slice.type, slice.shape, slice.offset, slice.count});
  }
  fault::point("ckpt.shard.end", rank, step);
  return entry;
}

}  // namespace dtrain
