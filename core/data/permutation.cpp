// SPDX-License-Identifier: Apache-2.0
#include "core/data/permutation.h"

#include <dtrain/error.h>
#include <dtrain/rng.h>

#include <algorithm>
#include <bit>

namespace dtrain {

Permutation::Permutation(std::uint64_t n, std::uint64_t key) : n_(n) {
  DTRAIN_CHECK(n >= 1 && n <= (std::uint64_t{1} << 62), "size " + std::to_string(n));
  const int bits = std::max(8, static_cast<int>(std::bit_width(n - 1)));
  low_bits_ = bits / 2;
  low_mask_ = (std::uint64_t{1} << low_bits_) - 1;
  high_mask_ = (std::uint64_t{1} << (bits - low_bits_)) - 1;
  for (std::size_t i = 0; i < round_keys_.size(); ++i) round_keys_[i] = rng::mix(key, i);
}

std::uint64_t Permutation::at(std::uint64_t position) const {
  DTRAIN_CHECK(position < n_, "position " + std::to_string(position) + " of " + std::to_string(n_));
  if (n_ == 1) return 0;
  std::uint64_t value = position;
  do {
    value = shuffle(value);
  } while (value >= n_);
  return value;
}

std::uint64_t Permutation::shuffle(std::uint64_t value) const {
  std::uint64_t low = value & low_mask_;
  std::uint64_t high = value >> low_bits_;
  for (std::size_t i = 0; i < round_keys_.size(); i += 2) {
    low ^= rng::mix(round_keys_[i], high) & low_mask_;
    high ^= rng::mix(round_keys_[i + 1], low) & high_mask_;
  }
  return high << low_bits_ | low;
}

}  // namespace dtrain
