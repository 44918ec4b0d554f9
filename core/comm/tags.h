// SPDX-License-Identifier: Apache-2.0
//
// Tags of the host's own messages, so that they never meet those of a strategy (which stay below 2^32).
#pragma once

#include <cstdint>

namespace dtrain::tags {

inline constexpr std::uint64_t kSize = std::uint64_t{1} << 40;
inline constexpr std::uint64_t kBytes = std::uint64_t{2} << 40;
inline constexpr std::uint64_t kBroadcast = std::uint64_t{3} << 40;  // + 0 size, + 1 data
inline constexpr std::uint64_t kPart = std::uint64_t{4} << 40;       // + bucket << 20 | part
inline constexpr std::uint64_t kResult = std::uint64_t{5} << 40;     // + bucket

}  // namespace dtrain::tags
