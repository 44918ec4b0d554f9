// SPDX-License-Identifier: Apache-2.0
//
// How named tensors lie in one flat fp32 vector: parameters in registration order, then buffers, each tensor on a 64-byte
// boundary. Gradients, optimizer slots and the state itself all use this one layout, so an offset means the same everywhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace dtrain {

struct FlatTensor {
  std::string name;
  std::vector<std::int64_t> shape;
  std::size_t offset = 0;  // elements from the start of the flat vector
  std::size_t count = 0;   // elements
};

// A run of at most kBlockElements elements within one tensor: the unit of norms, checksums and ownership. Cut the same way
// whatever the number of ranks.
struct FlatBlock {
  std::size_t tensor = 0;  // index into FlatLayout::tensors()
  std::size_t begin = 0;   // flat element offsets
  std::size_t end = 0;
};

class FlatLayout {
 public:
  static constexpr std::size_t kAlignment = 16;  // elements: 64 bytes
  static constexpr std::size_t kBlockElements = 65'536;

  struct Named {
    std::string name;
    std::vector<std::int64_t> shape;
  };

  FlatLayout(std::span<const Named> params, std::span<const Named> buffers);

  std::span<const FlatTensor> tensors() const { return tensors_; }  // parameters, then buffers
  std::span<const FlatBlock> blocks() const { return blocks_; }     // in tensor order
  std::size_t num_params() const { return num_params_; }            // tensors that are parameters
  std::size_t num_param_blocks() const { return num_param_blocks_; }
  std::size_t param_end() const { return param_end_; }  // elements; buffers lie in [param_end, size)
  std::size_t size() const { return size_; }            // elements, a multiple of kAlignment

  // Cuts [begin, end), which starts and ends on block boundaries, into `parts` runs of blocks of about equal size. Returns
  // parts + 1 ascending element offsets.
  std::vector<std::size_t> cut(std::size_t begin, std::size_t end, int parts) const;

  // Cuts the whole vector into buckets of about `elements` elements, from the end to the start (the order in which a backward
  // finishes gradients). Bucket i is [first, second).
  std::vector<std::pair<std::size_t, std::size_t>> buckets(std::size_t elements) const;

 private:
  std::vector<FlatTensor> tensors_;
  std::vector<FlatBlock> blocks_;
  std::size_t num_params_ = 0;
  std::size_t num_param_blocks_ = 0;
  std::size_t param_end_ = 0;
  std::size_t size_ = 0;
};

}  // namespace dtrain
