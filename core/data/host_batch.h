// SPDX-License-Identifier: Apache-2.0
//
// One micro-batch in host memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <vector>

namespace dtrain {

// Bytes that start on a cache line, so that tensors over them do.
class AlignedBytes {
 public:
  static constexpr std::align_val_t kAlignment{64};

  AlignedBytes() = default;
  explicit AlignedBytes(std::size_t size)
      : data_(static_cast<std::byte*>(::operator new(size, kAlignment))), size_(size) {}

  std::byte* data() const { return data_.get(); }
  std::size_t size() const { return size_; }

 private:
  struct Free {
    void operator()(std::byte* p) const { ::operator delete(p, kAlignment); }
  };
  std::unique_ptr<std::byte, Free> data_;
  std::size_t size_ = 0;
};

// Field i holds `count` samples one after the other, each dense and row-major, in the order of DataInfo::fields.
class HostBatch {
 public:
  std::int64_t step = 0;  // data step, from 0
  std::int64_t epoch = 0;
  std::int64_t index = 0;  // of the micro-batch within the step
  std::int64_t first = 0;  // position of its first sample within the step
  std::int64_t count = 0;
  std::uint64_t ids_hash = 0;  // hash_ids() of ids()

  std::span<std::byte> field(std::size_t i) const {
    return {storage_[i].data(), sample_bytes_[i] * static_cast<std::size_t>(count)};
  }
  std::size_t fields() const { return storage_.size(); }
  std::span<const std::uint64_t> ids() const { return {ids_.data(), static_cast<std::size_t>(count)}; }

 private:
  friend class BatchAssembler;
  std::vector<AlignedBytes> storage_;
  std::vector<std::size_t> sample_bytes_;
  std::vector<std::uint64_t> ids_;
  std::vector<std::span<std::byte>> targets_;  // of the sample being read
};

}  // namespace dtrain
