// SPDX-License-Identifier: Apache-2.0
//
// One file of a checkpoint, read through its checksums: bytes that differ from what was written never come out.
#pragma once

#include <dtrain/store.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/ckpt/manifest.h"

namespace dtrain {

// One thread at a time: it keeps the last chunk, so that reading in order reads nothing twice.
class VerifiedReader final : public ObjectReader {
 public:
  // `label` names the file in messages. `record` outlives the reader. UserError when the size is not the recorded one.
  VerifiedReader(std::unique_ptr<ObjectReader> file, const FileRecord& record, std::string label);

  std::uint64_t size() const override { return record_.bytes; }

  // UserError that names the file and the byte range of the chunk whose checksum differs.
  void read(std::uint64_t offset, std::span<std::byte> out) const override;

  void verify_all() const;

 private:
  std::span<const std::byte> chunk(std::uint64_t index) const;
  void read_chunk(std::uint64_t index, std::span<std::byte> out) const;

  std::unique_ptr<ObjectReader> file_;
  const FileRecord& record_;
  std::string label_;
  mutable std::vector<std::byte> buffer_;
  mutable std::uint64_t buffered_ = ~std::uint64_t{0};  // index of the chunk in buffer_
};

}  // namespace dtrain
