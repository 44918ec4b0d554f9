// SPDX-License-Identifier: Apache-2.0
#include "core/nn/initial_values.h"

#include <dtrain/rng.h>

#include <algorithm>
#include <array>

namespace dtrain {
namespace {

constexpr std::uint64_t kPerBlock = 4;  // words of one Philox block, one element each

std::array<float, kPerBlock> values(const Init& init, const rng::Block& words) {
  if (init.kind == Init::Kind::uniform) {
    std::array<float, kPerBlock> out{};
    for (std::size_t i = 0; i < kPerBlock; ++i) {
      out[i] = static_cast<float>(init.a + (init.b - init.a) * static_cast<double>(rng::to_unit(words[i])));
    }
    return out;
  }
  const auto low = rng::to_normal(words[0], words[1]);
  const auto high = rng::to_normal(words[2], words[3]);
  const auto scaled = [&](float z) { return static_cast<float>(init.a + init.b * static_cast<double>(z)); };
  return {scaled(low[0]), scaled(low[1]), scaled(high[0]), scaled(high[1])};
}

}  // namespace

void fill_initial(const ParamSpec& spec, std::uint64_t seed, std::uint64_t first, std::span<float> out) {
  if (spec.init.kind == Init::Kind::constant) {
    std::ranges::fill(out, static_cast<float>(spec.init.a));
    return;
  }
  const auto key = rng::mix(rng::key(seed, "initial values"), rng::hash(spec.name));
  for (std::size_t done = 0; done < out.size();) {
    const std::uint64_t element = first + done;
    const std::uint64_t block = element / kPerBlock;
    const auto drawn =
        values(spec.init,
               rng::philox(key, {static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(block >> 32), 0, 0}));
    const auto offset = static_cast<std::size_t>(element % kPerBlock);
    const auto count = std::min<std::size_t>(kPerBlock - offset, out.size() - done);
    std::copy_n(drawn.begin() + static_cast<std::ptrdiff_t>(offset), count,
                out.begin() + static_cast<std::ptrdiff_t>(done));
    done += count;
  }
}

}  // namespace dtrain
