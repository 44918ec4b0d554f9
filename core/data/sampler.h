// SPDX-License-Identifier: Apache-2.0
//
// Which sample stands at a position of an epoch. A pure function of (seed, epoch, position): nothing is stored but
// sizes.
//
// A source of n samples and weight w gives c = round(w n) samples to an epoch, so an epoch has the sum of all c. Weight
// 1 means each sample once an epoch, 2 twice, 0.5 every second epoch. Exactly: a source is an endless stream of passes,
// each pass all n samples once in an order of its own; epoch e takes the draws [e c, (e + 1) c) of that stream. So at
// any time no sample of a source has been used more than once oftener than another.
//
// With shuffle the draws of all sources of an epoch are mixed by a permutation keyed by (seed, epoch); proportions are
// exact over an epoch. Without shuffle the sources follow each other and each keeps its own order.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/data/permutation.h"

namespace dtrain {

// A sample and the number of the pass over its source in which it is drawn (the epoch, for weight 1).
struct SampleRef {
  std::int64_t source = 0;
  std::int64_t index = 0;
  std::int64_t pass = 0;
  bool operator==(const SampleRef&) const = default;
};

// (source, index) in one word, as the ledger hashes it: 16 bits of source, 48 of index.
constexpr std::uint64_t sample_id(std::int64_t source, std::int64_t index) {
  return static_cast<std::uint64_t>(source) << 48 | static_cast<std::uint64_t>(index);
}
constexpr std::int64_t source_of(std::uint64_t id) {
  return static_cast<std::int64_t>(id >> 48);
}
constexpr std::int64_t index_of(std::uint64_t id) {
  return static_cast<std::int64_t>(id & ((std::uint64_t{1} << 48) - 1));
}

// XXH3 (64 bits) of the ids as little-endian words.
std::uint64_t hash_ids(std::span<const std::uint64_t> ids);

class EpochOrder;

// Immutable; any thread.
class Sampler {
 public:
  struct Source {
    std::int64_t samples = 0;
    double weight = 1.0;
    bool operator==(const Source&) const = default;
  };

  // UserError: a source without samples, or whose weight leaves it none.
  Sampler(std::vector<Source> sources, std::uint64_t seed, bool shuffle);

  // All samples of all sources once, in order: an evaluation.
  static Sampler in_order(std::span<const std::int64_t> samples);

  std::span<const Source> sources() const { return sources_; }
  std::uint64_t seed() const { return seed_; }
  bool shuffle() const { return shuffle_; }
  std::int64_t epoch_size() const { return ends_.back(); }
  std::int64_t draws_per_epoch(std::int64_t source) const;  // c of the source

  EpochOrder epoch(std::int64_t epoch) const;

 private:
  friend class EpochOrder;
  std::vector<Source> sources_;
  std::vector<std::int64_t> ends_;  // running sum of draws an epoch
  std::uint64_t seed_ = 0;
  bool shuffle_ = false;
};

// The order of one epoch. Refers to its sampler. Any thread.
class EpochOrder {
 public:
  EpochOrder(const Sampler& sampler, std::int64_t epoch);
  SampleRef at(std::int64_t position) const;  // position in [0, epoch_size())

 private:
  std::uint64_t pass_key(std::size_t source, std::int64_t pass) const;

  const Sampler& sampler_;
  std::int64_t epoch_;
  Permutation mix_;
};

}  // namespace dtrain
