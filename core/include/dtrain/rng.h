// SPDX-License-Identifier: Apache-2.0
//
// Counter-based random numbers: Philox4x32-10 (Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3",
// SC11). A draw is a pure function of its key and counter, so it does not depend on rank, micro-batch or order of calls.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <string_view>

namespace dtrain::rng {

using Block = std::array<std::uint32_t, 4>;

constexpr Block philox(std::uint64_t key, Block counter) {
  auto k0 = static_cast<std::uint32_t>(key);
  auto k1 = static_cast<std::uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = 0xD2511F53ull * counter[0];
    const std::uint64_t p1 = 0xCD9E8D57ull * counter[2];
    counter = {static_cast<std::uint32_t>(p1 >> 32) ^ counter[1] ^ k0, static_cast<std::uint32_t>(p1),
               static_cast<std::uint32_t>(p0 >> 32) ^ counter[3] ^ k1, static_cast<std::uint32_t>(p0)};
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return counter;
}

// Mixes two words into one key (the finaliser of SplitMix64 over a combination). Order matters.
constexpr std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  std::uint64_t x = a + 0x9E3779B97F4A7C15ull * (b + 1);
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
  return x ^ (x >> 31);
}

// FNV-1a, for names: the same on every machine and build.
constexpr std::uint64_t hash(std::string_view text) {
  std::uint64_t h = 0xCBF29CE484222325ull;
  for (char c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001B3ull;
  return h;
}

constexpr std::uint64_t key(std::uint64_t seed, std::string_view purpose) { return mix(seed, hash(purpose)); }

// [0, 1) with 24 bits.
constexpr float to_unit(std::uint32_t word) { return static_cast<float>(word >> 8) * 0x1.0p-24f; }

// Two independent standard normal values from two words (Box and Muller, 1958), computed in double.
inline std::array<float, 2> to_normal(std::uint32_t a, std::uint32_t b) {
  const double u = (static_cast<double>(a) + 1.0) * 0x1.0p-32;  // (0, 1]
  const double v = static_cast<double>(b) * 0x1.0p-32;
  const double radius = std::sqrt(-2.0 * std::log(u));
  const double angle = 2.0 * std::numbers::pi * v;
  return {static_cast<float>(radius * std::cos(angle)), static_cast<float>(radius * std::sin(angle))};
}

// A stream of draws for one thing (one sample's augmentation, one weight's initial values). Not shared between threads.
class Stream {
 public:
  Stream(std::uint64_t key, std::uint64_t index, std::uint32_t call = 0) : key_(key), index_(index), call_(call) {}

  std::uint32_t next() {
    if (used_ == 4) {
      block_ = philox(key_, {counter_++, static_cast<std::uint32_t>(index_), static_cast<std::uint32_t>(index_ >> 32),
                             call_});
      used_ = 0;
    }
    return block_[used_++];
  }
  float uniform() { return to_unit(next()); }
  // Unbiased value in [0, bound), bound > 0 (Lemire, "Fast random integer generation in an interval", 2019).
  std::uint32_t below(std::uint32_t bound) {
    std::uint64_t product = std::uint64_t{next()} * bound;
    if (static_cast<std::uint32_t>(product) < bound) {
      const std::uint32_t threshold = -bound % bound;
      while (static_cast<std::uint32_t>(product) < threshold) product = std::uint64_t{next()} * bound;
    }
    return static_cast<std::uint32_t>(product >> 32);
  }

 private:
  std::uint64_t key_;
  std::uint64_t index_;
  std::uint32_t call_;
  std::uint32_t counter_ = 0;
  std::size_t used_ = 4;
  Block block_{};
};

}  // namespace dtrain::rng
