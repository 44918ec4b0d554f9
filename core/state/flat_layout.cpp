// SPDX-License-Identifier: Apache-2.0
#include "core/state/flat_layout.h"

#include <algorithm>
#include <utility>

#include <dtrain/error.h>

namespace dtrain {
namespace {

std::size_t aligned(std::size_t elements) {
  return (elements + FlatLayout::kAlignment - 1) / FlatLayout::kAlignment * FlatLayout::kAlignment;
}

}  // namespace

FlatLayout::FlatLayout(std::span<const Named> params, std::span<const Named> buffers) {
  auto append = [this](const Named& named) {
    FlatTensor tensor{named.name, named.shape, size_, 1};
    for (auto d : named.shape) tensor.count *= static_cast<std::size_t>(d);
    for (std::size_t begin = 0; begin < tensor.count; begin += kBlockElements) {
      const auto end = std::min(begin + kBlockElements, tensor.count);
      blocks_.push_back({tensors_.size(), tensor.offset + begin, tensor.offset + end});
    }
    size_ = aligned(size_ + tensor.count);
    tensors_.push_back(std::move(tensor));
  };
  for (const auto& named : params) append(named);
  num_params_ = tensors_.size();
  num_param_blocks_ = blocks_.size();
  param_end_ = size_;
  for (const auto& named : buffers) append(named);
}

std::vector<std::size_t> FlatLayout::cut(std::size_t begin, std::size_t end, int parts) const {
  DTRAIN_CHECK(parts > 0);
  std::vector<std::size_t> cuts{begin};
  auto block = std::lower_bound(blocks_.begin(), blocks_.end(), begin,
                                [](const FlatBlock& b, std::size_t offset) { return b.begin < offset; });
  const auto total = end - begin;
  for (int part = 1; part < parts; ++part) {
    const auto target = begin + total * static_cast<std::size_t>(part) / static_cast<std::size_t>(parts);
    while (block != blocks_.end() && block->begin < target && block->begin < end) ++block;
    const auto at = block == blocks_.end() ? end : std::min(block->begin, end);
    cuts.push_back(std::max(at, cuts.back()));
  }
  cuts.push_back(end);
  return cuts;
}

std::vector<std::pair<std::size_t, std::size_t>> FlatLayout::buckets(std::size_t elements) const {
  std::vector<std::pair<std::size_t, std::size_t>> result;
  std::size_t end = size_;
  for (auto block = blocks_.rbegin(); block != blocks_.rend(); ++block) {
    const bool first = block + 1 == blocks_.rend();
    const auto begin = first ? 0 : block->begin;
    if (end - begin >= elements || first) {
      result.emplace_back(begin, end);
      end = begin;
    }
  }
  return result;
}

}  // namespace dtrain
