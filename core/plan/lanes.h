// SPDX-License-Identifier: Apache-2.0
//
// The arithmetic of a step: samples -> micro-batches -> lanes -> ranks. A step has global_batch_size / micro_batch_size
// micro-batches; the lanes cut them into contiguous runs; each rank owns a contiguous run of lanes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace dtrain {

struct Run {
  std::int64_t begin = 0;
  std::int64_t count = 0;
};

// Part `index` of `total` things cut into `parts` runs: the first `total % parts` have one more. 16 on 3: 6, 5, 5.
Run part_of(std::int64_t total, std::int64_t parts, std::int64_t index);

// Gradient buffers that a rank needs to fold `own_lanes` lanes in tree order: ceil(log2(own_lanes)) + 1; 0 without
// lanes.
std::int64_t gradient_buffers(std::int64_t own_lanes);

inline constexpr std::int64_t kDefaultLanes = 16;
std::int64_t default_lanes(std::int64_t micro_batches);

}  // namespace dtrain
