// SPDX-License-Identifier: Apache-2.0
//
// Gradients of lanes for tests of the reduction, and their sum computed in another way.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "core/comm/lane_tree.h"
#include "core/comm/reducer.h"

namespace dtrain::test {

using Vector = std::vector<float>;

// Lane `lane`'s gradient: values whose sums depend on the order of additions, and every special value. The same
// everywhere.
inline Vector lane_gradient(int lane, std::size_t size, std::uint64_t seed) {
  Vector out(size);
  std::uint64_t x = seed * 0x9e3779b97f4a7c15 + static_cast<std::uint64_t>(lane) * 0xd1342543de82ef95 + 1;
  constexpr float kSpecial[] = {
      -0.0f, 0.0f, 1e-45f, -1.2e-38f, std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()};
  for (auto& value : out) {
    x ^= x << 13, x ^= x >> 7, x ^= x << 17;
    const auto mantissa = static_cast<float>(static_cast<double>(x >> 40) * 0x1p-24 - 0.5);
    const int exponent = static_cast<int>((x >> 8) % 24) - 12;
    value = x % 97 == 0 ? kSpecial[(x >> 16) % 6] : x % 13 == 0 ? -0.0f : std::ldexp(mantissa, exponent);
  }
  return out;
}

// The sum in tree order by its definition: node = left + right, where both have work.
inline std::optional<Vector> tree_sum(LaneNode node, int lanes, const std::vector<bool>& present,
                                      const std::vector<Vector>& gradients) {
  const auto range = node.range(lanes);
  if (range.begin >= range.end) return {};
  if (node.level == 0) {
    if (!present[static_cast<std::size_t>(node.index)]) return {};
    return gradients[static_cast<std::size_t>(node.index)];
  }
  auto left = tree_sum(node.left(), lanes, present, gradients);
  const auto right = tree_sum(node.right(), lanes, present, gradients);
  if (!left || !right) return left ? left : right;
  for (std::size_t i = 0; i < left->size(); ++i) (*left)[i] = (*left)[i] + (*right)[i];
  return left;
}

inline std::uint32_t bits(float value) {
  std::uint32_t out;
  std::memcpy(&out, &value, sizeof(out));
  return out;
}

// Elements whose bits differ; NaNs are equal.
inline std::size_t differences(const Vector& a, const Vector& b) {
  std::size_t count = a.size() == b.size() ? 0 : 1;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    count += !(std::isnan(a[i]) && std::isnan(b[i])) && bits(a[i]) != bits(b[i]);
  }
  return count;
}

// As a rank does it: lanes one after the other into the buffers of its plan.
class RankLanes {
 public:
  RankLanes(LaneRange range, int lanes, const std::vector<bool>& present, const std::vector<Vector>& gradients)
      : plan_(range, lanes, present), buffers_(plan_.buffers()) {
    for (const auto& step : plan_.steps()) {
      buffers_[step.buffer] = gradients[static_cast<std::size_t>(step.lane)];
      for (const auto& merge : step.merges) {
        auto& into = buffers_[merge.into];
        for (std::size_t i = 0; i < into.size(); ++i) into[i] += buffers_[merge.from][i];
      }
    }
    for (const auto& part : plan_.parts()) parts_.push_back({part.node, buffers_[part.buffer].data()});
  }
  RankLanes(const RankLanes&) = delete;
  RankLanes& operator=(const RankLanes&) = delete;

  std::span<const LanePart> parts() const { return parts_; }
  const std::vector<Vector>& buffers() const { return buffers_; }

 private:
  FoldingPlan plan_;
  std::vector<Vector> buffers_;
  std::vector<LanePart> parts_;
};

// Contiguous and as even as can be, the longer ones first.
inline std::vector<LaneRange> even_ranges(int lanes, int ranks) {
  std::vector<LaneRange> out;
  int begin = 0;
  for (int rank = 0; rank < ranks; ++rank) {
    const int count = lanes / ranks + (rank < lanes % ranks ? 1 : 0);
    out.push_back({begin, begin + count});
    begin += count;
  }
  return out;
}

// Buckets of uneven sizes over `size` elements, each cut among the ranks at odd places; some slices are empty.
inline std::vector<Bucket> uneven_buckets(std::size_t size, std::size_t ranks) {
  const std::size_t ends[] = {size / 5, size / 2 + 3, size / 2 + 4, size};
  std::vector<Bucket> out;
  std::size_t begin = 0;
  for (const auto end : ends) {
    Bucket bucket;
    for (std::size_t rank = 0; rank <= ranks; ++rank) bucket.cuts.push_back(begin + (end - begin) * rank / ranks);
    out.push_back(bucket);
    begin = end;
  }
  return out;
}

}  // namespace dtrain::test
