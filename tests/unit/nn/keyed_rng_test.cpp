// SPDX-License-Identifier: Apache-2.0
#include "core/nn/keyed_rng.h"

#include <dtrain/rng.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "tests/unit/nn/model_bench.h"

namespace dtrain {
namespace {

using test::batch_of;

Batch samples(std::int64_t first, std::int64_t count, std::int64_t step = 3) {
  return batch_of(at::zeros({count, 1}), true, first, step);
}

TEST(KeyedRng, ASamplesMaskDoesNotDependOnItsMicroBatch) {
  KeyedRng rng(11, kernels::best());
  const auto whole = rng.dropout_mask({6, 5, 37}, 0.3, samples(20, 6), "block.0.dropout", 0);
  for (const std::int64_t size : {1, 2, 3}) {
    for (std::int64_t first = 0; first < 6; first += size) {
      const auto part = rng.dropout_mask({size, 5, 37}, 0.3, samples(20 + first, size), "block.0.dropout", 0);
      EXPECT_TRUE(at::equal(part, whole.slice(0, first, first + size)));
    }
  }
}

TEST(KeyedRng, EveryPartOfTheKeyMatters) {
  KeyedRng rng(11, kernels::best());
  KeyedRng other_seed(12, kernels::best());
  const auto mask = rng.dropout_mask({2, 200}, 0.5, samples(0, 2), "a", 0);
  EXPECT_TRUE(at::equal(mask, rng.dropout_mask({2, 200}, 0.5, samples(0, 2), "a", 0)));
  EXPECT_FALSE(at::equal(mask[0], mask[1]));
  EXPECT_FALSE(at::equal(mask, other_seed.dropout_mask({2, 200}, 0.5, samples(0, 2), "a", 0)));
  EXPECT_FALSE(at::equal(mask, rng.dropout_mask({2, 200}, 0.5, samples(0, 2, 4), "a", 0)));
  EXPECT_FALSE(at::equal(mask, rng.dropout_mask({2, 200}, 0.5, samples(1, 2), "a", 0)));
  EXPECT_FALSE(at::equal(mask, rng.dropout_mask({2, 200}, 0.5, samples(0, 2), "b", 0)));
  EXPECT_FALSE(at::equal(mask, rng.dropout_mask({2, 200}, 0.5, samples(0, 2), "a", 1)));
}

TEST(KeyedRng, DropsTheShareAskedForAndKeepsTheMean) {
  KeyedRng rng(1, kernels::best());
  for (const double p : {0.1, 0.5, 0.9}) {
    const auto mask = rng.dropout_mask({4, 100'000}, p, samples(0, 4), "x", 0);
    const auto zeros = (mask == 0).to(at::kDouble).mean().item<double>();
    EXPECT_NEAR(zeros, p, 0.005);
    EXPECT_NEAR(mask.max().item<double>(), 1 / (1 - p), 1e-5 / (1 - p));
    EXPECT_NEAR(mask.to(at::kDouble).mean().item<double>(), 1, 0.03);
  }
  EXPECT_TRUE((rng.dropout_mask({1, 1000}, 0, samples(0, 1), "x", 0) == 1).all().item<bool>());
}

// The masks are part of a run's results: they must be the same for every instruction set, and for ever.
TEST(KeyedRng, AllKernelsDrawTheDocumentedWords) {
  std::vector<const kernels::Kernels*> tables{&kernels::kBaseline, &kernels::best()};
  const std::uint64_t key = 0x0123456789abcdef;
  for (const auto* table : tables) {
    std::vector<float> mask(150);
    table->dropout_mask(key, 9, 0x60000000u, 2.0f, static_cast<std::int64_t>(mask.size()), mask.data());
    for (std::size_t i = 0; i < mask.size(); ++i) {
      const auto block = rng::philox(key, {static_cast<std::uint32_t>(16 * (i / 64) + i % 16), 0, 0, 9});
      EXPECT_EQ(mask[i], block[i / 16 % 4] < 0x60000000u ? 0.0f : 2.0f) << table->instruction_set << " " << i;
    }
  }
}

TEST(KeyedRng, GeneratorSeedsDifferByPlaceAndBatch) {
  KeyedRng rng(1, kernels::best());
  const auto one = samples(0, 2), two = samples(2, 2), later = samples(0, 2, 4);
  std::set<std::uint64_t> seeds{rng.generator_seed("a", nullptr), rng.generator_seed("b", nullptr),
                                rng.generator_seed("a", &one), rng.generator_seed("a", &two),
                                rng.generator_seed("a", &later)};
  EXPECT_EQ(seeds.size(), 5u);
  EXPECT_EQ(rng.generator_seed("a", &one), rng.generator_seed("a", &one));
}

}  // namespace
}  // namespace dtrain
