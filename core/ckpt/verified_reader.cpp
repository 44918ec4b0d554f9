// SPDX-License-Identifier: Apache-2.0
#include "core/ckpt/verified_reader.h"

#include <dtrain/error.h>

#include <algorithm>
#include <cstring>

#include "core/base/hash.h"
#include "core/ckpt/json_fields.h"

namespace dtrain {

VerifiedReader::VerifiedReader(std::unique_ptr<ObjectReader> file, const FileRecord& record, std::string label)
    : file_(std::move(file)), record_(record), label_(std::move(label)) {
  if (file_->size() != record_.bytes) {
    ckpt::damaged(
        label_, "has " + std::to_string(file_->size()) + " bytes, the manifest says " + std::to_string(record_.bytes));
  }
}

void VerifiedReader::read_chunk(std::uint64_t index, std::span<std::byte> out) const {
  const auto begin = index * record_.chunk_bytes;
  file_->read(begin, out);
  const auto found = xxh3_64(out), expected = record_.checksums.at(index);
  if (found != expected) {
    ckpt::damaged(label_, "bytes " + std::to_string(begin) + ".." + std::to_string(begin + out.size() - 1) +
                              " have checksum " + hex64(found) + ", the manifest says " + hex64(expected));
  }
}

std::span<const std::byte> VerifiedReader::chunk(std::uint64_t index) const {
  if (buffered_ != index) {
    buffered_ = ~std::uint64_t{0};
    buffer_.resize(std::min(record_.chunk_bytes, record_.bytes - index * record_.chunk_bytes));
    read_chunk(index, buffer_);
    buffered_ = index;
  }
  return buffer_;
}

void VerifiedReader::read(std::uint64_t offset, std::span<std::byte> out) const {
  DTRAIN_CHECK(offset <= record_.bytes && out.size() <= record_.bytes - offset, label_);
  while (!out.empty()) {
    const auto index = offset / record_.chunk_bytes, within = offset % record_.chunk_bytes;
    if (within == 0 && out.size() >= record_.chunk_bytes) {  // a whole chunk: straight to where it goes
      read_chunk(index, out.first(record_.chunk_bytes));
      offset += record_.chunk_bytes;
      out = out.subspan(record_.chunk_bytes);
      continue;
    }
    const auto bytes = chunk(index).subspan(within);
    const auto count = std::min(bytes.size(), out.size());
    std::memcpy(out.data(), bytes.data(), count);
    offset += count;
    out = out.subspan(count);
  }
}

void VerifiedReader::verify_all() const {
  for (std::uint64_t index = 0; index < record_.checksums.size(); ++index) chunk(index);
}

}  // namespace dtrain
