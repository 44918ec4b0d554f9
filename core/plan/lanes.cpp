// SPDX-License-Identifier: Apache-2.0
#include "core/plan/lanes.h"

#include <dtrain/error.h>

#include <algorithm>
#include <bit>

namespace dtrain {

Run part_of(std::int64_t total, std::int64_t parts, std::int64_t index) {
  DTRAIN_CHECK(total >= 0 && parts > 0 && index >= 0 && index < parts);
  const auto each = total / parts;
  const auto longer = total % parts;
  return {index * each + std::min(index, longer), each + (index < longer ? 1 : 0)};
}

std::int64_t gradient_buffers(std::int64_t own_lanes) {
  if (own_lanes <= 0) return 0;
  return std::bit_width(static_cast<std::uint64_t>(own_lanes) - 1) + 1;
}

std::int64_t default_lanes(std::int64_t micro_batches) {
  return std::min(micro_batches, kDefaultLanes);
}

}  // namespace dtrain
