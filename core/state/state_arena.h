// SPDX-License-Identifier: Apache-2.0
//
// The memory that holds a rank's committed state: a memfd with two mappings. Modules see the read-only one, so a stray write
// faults instead of corrupting the run; only the update writes, through the other. One owner a rank; the same file can be
// mapped by other processes of the node.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace dtrain {

// Not thread-safe; spans stay valid for the life of the arena.
class StateArena {
 public:
  struct Region {
    std::string name;          // "state", or a slot of the optimizer
    std::size_t elements = 0;  // fp32
  };

  // Maps and populates (zeros). UserError (exit 1) with the bytes wanted when memory is short.
  StateArena(const std::string& name, std::vector<Region> regions);
  ~StateArena();
  StateArena(const StateArena&) = delete;
  StateArena& operator=(const StateArena&) = delete;

  std::size_t regions() const { return offsets_.size(); }
  const std::string& name(std::size_t region) const { return regions_[region].name; }
  std::span<const float> readable(std::size_t region) const;
  std::span<float> writable(std::size_t region) const;
  std::size_t bytes() const { return bytes_; }
  int descriptor() const { return fd_; }

 private:
  std::vector<Region> regions_;
  std::vector<std::size_t> offsets_;  // bytes, page-aligned
  std::size_t bytes_ = 0;
  int fd_ = -1;
  std::byte* read_only_ = nullptr;
  std::byte* read_write_ = nullptr;
};

// Private memory of a fixed number of floats, zeroed and populated, aligned to a page.
class FloatBuffer {
 public:
  explicit FloatBuffer(std::size_t elements);
  ~FloatBuffer();
  FloatBuffer(FloatBuffer&& other) noexcept;
  FloatBuffer& operator=(FloatBuffer&&) = delete;

  std::span<float> span() const { return {data_, elements_}; }
  float* data() const { return data_; }

 private:
  float* data_ = nullptr;
  std::size_t elements_ = 0;
};

}  // namespace dtrain
