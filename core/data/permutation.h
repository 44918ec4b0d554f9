// SPDX-License-Identifier: Apache-2.0
//
// A keyed pseudo-random permutation of [0, n) that stores nothing but its key: the order of an epoch.
//
// A Feistel network permutes the smallest power of two that holds n (at least 256, so that its halves are wide enough
// to mix); values outside [0, n) are walked on until they fall inside. Source: Black and Rogaway, "Ciphers with
// arbitrary finite domains", CT-RSA 2002, methods "generalized Feistel" and "cycle walking". It need not resist an
// attacker, only look shuffled.
#pragma once

#include <array>
#include <cstdint>

namespace dtrain {

// Immutable; any thread. O(1) memory; at() takes O(1) expected time for n >= 256 and O(256 / n) below.
class Permutation {
 public:
  Permutation(std::uint64_t n, std::uint64_t key);  // n >= 1

  std::uint64_t size() const { return n_; }
  std::uint64_t at(std::uint64_t position) const;  // position in [0, n)

 private:
  static constexpr int kRounds = 8;  // each changes both halves

  std::uint64_t shuffle(std::uint64_t value) const;

  std::uint64_t n_;
  int low_bits_;
  std::uint64_t low_mask_;
  std::uint64_t high_mask_;
  std::array<std::uint64_t, 2 * kRounds> round_keys_{};
};

}  // namespace dtrain
