// SPDX-License-Identifier: Apache-2.0
#include "core/comm/reduction_layout.h"

#include <dtrain/error.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "core/base/hash.h"
#include "core/comm/exchange.h"

namespace dtrain {

ReductionLayout::ReductionLayout(std::vector<LaneRange> owners, int lanes, std::vector<Bucket> buckets)
    : owners_(std::move(owners)), lanes_(lanes), buckets_(std::move(buckets)) {
  int next = 0;
  for (const auto& range : owners_) {
    DTRAIN_CHECK(range.begin == next && range.end >= range.begin, "owners of lanes are in order and without gaps");
    next = range.end;
  }
  DTRAIN_CHECK(next == lanes_, std::to_string(next) + " of " + std::to_string(lanes_) + " lanes have an owner");
  std::size_t end = 0;
  for (const auto& bucket : buckets_) {
    const auto& cuts = bucket.cuts;
    DTRAIN_CHECK(cuts.size() == ranks() + 1,
                 std::to_string(cuts.size()) + " cuts for " + std::to_string(ranks()) + " ranks");
    DTRAIN_CHECK(std::is_sorted(cuts.begin(), cuts.end()));
    end = std::max(end, cuts.back());
  }
  std::vector<std::pair<std::size_t, std::size_t>> ranges;
  for (const auto& bucket : buckets_) ranges.emplace_back(bucket.cuts.front(), bucket.cuts.back());
  std::sort(ranges.begin(), ranges.end());
  for (std::size_t i = 1; i < ranges.size(); ++i) {
    DTRAIN_CHECK(ranges[i - 1].second <= ranges[i].first, "buckets do not overlap");
  }
}

std::vector<LaneNode> ReductionLayout::nodes_of(std::size_t rank, const std::vector<bool>& lane_present) const {
  auto nodes = maximal_nodes(owners_[rank], lanes_);
  std::erase_if(nodes, [&](LaneNode node) {
    const auto range = node.range(lanes_);
    return std::none_of(lane_present.begin() + range.begin, lane_present.begin() + range.end, [](bool p) { return p; });
  });
  return nodes;
}

void ReductionLayout::check_same_everywhere(Communicator& group) const {
  DTRAIN_CHECK(static_cast<int>(ranks()) == group.size(),
               std::to_string(ranks()) + " owners of lanes in a group of " + std::to_string(group.size()));
  std::vector<std::uint64_t> numbers;
  for (const auto& range : owners_) numbers.push_back(static_cast<std::uint64_t>(range.end));
  std::uint64_t elements = 0;
  for (const auto& bucket : buckets_) {
    numbers.insert(numbers.end(), bucket.cuts.begin(), bucket.cuts.end());
    elements += bucket.cuts.back() - bucket.cuts.front();
  }
  const auto mine = std::to_string(lanes_) + " lanes, " + std::to_string(elements) + " elements in " +
                    std::to_string(buckets_.size()) + " buckets, digest " +
                    std::to_string(xxh3_64(std::as_bytes(std::span(numbers))));
  const auto all = all_gather_bytes(group, std::as_bytes(std::span(mine)));
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    const std::string theirs(reinterpret_cast<const char*>(all[rank].data()), all[rank].size());
    DTRAIN_CHECK(theirs == mine, "rank " + std::to_string(group.rank()) + " reduces " + mine + "; rank " +
                                     std::to_string(rank) + " reduces " + theirs);
  }
}

}  // namespace dtrain
