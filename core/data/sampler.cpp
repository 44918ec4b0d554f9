// SPDX-License-Identifier: Apache-2.0
#include "core/data/sampler.h"

#include <dtrain/error.h>
#include <dtrain/rng.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <string>

#include "core/base/hash.h"

namespace dtrain {

static_assert(std::endian::native == std::endian::little);

namespace {

std::string format(double value) {
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
  return std::string(text.data(), end);
}

}  // namespace

std::uint64_t hash_ids(std::span<const std::uint64_t> ids) {
  return xxh3_64(std::as_bytes(ids));
}

Sampler::Sampler(std::vector<Source> sources, std::uint64_t seed, bool shuffle)
    : sources_(std::move(sources)), seed_(seed), shuffle_(shuffle) {
  DTRAIN_CHECK(!sources_.empty() && sources_.size() <= 0x10000);
  std::int64_t end = 0;
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    const auto& source = sources_[i];
    const auto name = "data source " + std::to_string(i + 1) + " of " + std::to_string(sources_.size());
    DTRAIN_CHECK(source.samples < (std::int64_t{1} << 48));
    if (source.samples < 1) throw UserError(name + " has no samples", "check its path, or leave the source out");
    const double draws = std::round(source.weight * static_cast<double>(source.samples));
    if (!(draws >= 1 && draws < 0x1.0p48)) {
      throw UserError(name + ": weight " + format(source.weight) + " of " + std::to_string(source.samples) +
                          " samples makes " + format(draws) + " samples an epoch; allowed are 1 to 2^48",
                      "change the weight: 1 uses every sample once an epoch");
    }
    end += static_cast<std::int64_t>(draws);
    ends_.push_back(end);
  }
}

Sampler Sampler::in_order(std::span<const std::int64_t> samples) {
  std::vector<Source> sources;
  for (auto n : samples) sources.push_back({.samples = n});
  return Sampler(std::move(sources), 0, false);
}

std::int64_t Sampler::draws_per_epoch(std::int64_t source) const {
  const auto i = static_cast<std::size_t>(source);
  return ends_.at(i) - (i == 0 ? 0 : ends_[i - 1]);
}

EpochOrder Sampler::epoch(std::int64_t epoch) const {
  return EpochOrder(*this, epoch);
}

EpochOrder::EpochOrder(const Sampler& sampler, std::int64_t epoch)
    : sampler_(sampler),
      epoch_(epoch),
      mix_(static_cast<std::uint64_t>(sampler.epoch_size()),
           rng::mix(rng::key(sampler.seed_, "data.order"), static_cast<std::uint64_t>(epoch))) {}

SampleRef EpochOrder::at(std::int64_t position) const {
  DTRAIN_CHECK(position >= 0 && position < sampler_.epoch_size());
  const auto slot =
      sampler_.shuffle_ ? static_cast<std::int64_t>(mix_.at(static_cast<std::uint64_t>(position))) : position;
  const auto found = std::upper_bound(sampler_.ends_.begin(), sampler_.ends_.end(), slot);
  const auto source = static_cast<std::size_t>(found - sampler_.ends_.begin());
  const auto draws = sampler_.draws_per_epoch(static_cast<std::int64_t>(source));
  const auto n = sampler_.sources_[source].samples;
  const auto draw = epoch_ * draws + (slot - (*found - draws));
  SampleRef ref{.source = static_cast<std::int64_t>(source), .index = draw % n, .pass = draw / n};
  // Where an epoch is exactly one pass the mixing permutation alone decides the order.
  if (sampler_.shuffle_ && draws != n) {
    const Permutation pass(static_cast<std::uint64_t>(n), pass_key(source, ref.pass));
    ref.index = static_cast<std::int64_t>(pass.at(static_cast<std::uint64_t>(ref.index)));
  }
  return ref;
}

std::uint64_t EpochOrder::pass_key(std::size_t source, std::int64_t pass) const {
  return rng::mix(rng::mix(rng::key(sampler_.seed_, "data.pass"), source), static_cast<std::uint64_t>(pass));
}

}  // namespace dtrain
