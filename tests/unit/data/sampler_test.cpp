// SPDX-License-Identifier: Apache-2.0
#include "core/data/sampler.h"

#include <dtrain/error.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <vector>

namespace dtrain {
namespace {

std::vector<SampleRef> order_of(const Sampler& sampler, std::int64_t epoch) {
  const auto order = sampler.epoch(epoch);
  std::vector<SampleRef> out;
  for (std::int64_t i = 0; i < sampler.epoch_size(); ++i) out.push_back(order.at(i));
  return out;
}

TEST(Sampler, OneSourceIsAPermutationAnEpochAndEpochsDiffer) {
  const Sampler sampler({{.samples = 40}}, 1234, true);
  EXPECT_EQ(sampler.epoch_size(), 40);
  std::set<std::vector<std::int64_t>> orders;
  for (std::int64_t epoch = 0; epoch < 3; ++epoch) {
    std::vector<std::int64_t> indices;
    for (const auto& ref : order_of(sampler, epoch)) {
      EXPECT_EQ(ref.source, 0);
      EXPECT_EQ(ref.pass, epoch);
      indices.push_back(ref.index);
    }
    EXPECT_TRUE(orders.insert(indices).second) << "epoch " << epoch << " repeats an order";
    std::sort(indices.begin(), indices.end());
    for (std::int64_t i = 0; i < 40; ++i) EXPECT_EQ(indices[static_cast<std::size_t>(i)], i);
  }
}

TEST(Sampler, SeedsDiffer) {
  const Sampler a({{.samples = 1000}}, 1, true);
  const Sampler b({{.samples = 1000}}, 2, true);
  EXPECT_NE(order_of(a, 0), order_of(b, 0));
  EXPECT_EQ(order_of(a, 0), order_of(Sampler({{.samples = 1000}}, 1, true), 0));
}

TEST(Sampler, WithoutShuffleTheSourcesFollowEachOther) {
  const std::int64_t sizes[] = {2, 3};
  const auto order = order_of(Sampler::in_order(sizes), 0);
  const std::vector<SampleRef> expected = {{0, 0, 0}, {0, 1, 0}, {1, 0, 0}, {1, 1, 0}, {1, 2, 0}};
  EXPECT_EQ(order, expected);
}

// Exact proportions an epoch, and over any number of epochs no sample of a source is used more than once oftener than
// another.
TEST(Sampler, WeightsAreExact) {
  for (bool shuffle : {true, false}) {
    const Sampler sampler({{.samples = 30, .weight = 1.0},
                           {.samples = 10, .weight = 2.0},
                           {.samples = 7, .weight = 0.5},
                           {.samples = 20, .weight = 0.75}},
                          5, shuffle);
    EXPECT_EQ(sampler.draws_per_epoch(0), 30);
    EXPECT_EQ(sampler.draws_per_epoch(1), 20);
    EXPECT_EQ(sampler.draws_per_epoch(2), 4);
    EXPECT_EQ(sampler.draws_per_epoch(3), 15);
    EXPECT_EQ(sampler.epoch_size(), 69);
    std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> uses;
    std::set<std::tuple<std::int64_t, std::int64_t, std::int64_t>> drawn_in_pass;
    for (std::int64_t epoch = 0; epoch < 20; ++epoch) {
      std::vector<std::int64_t> drawn(4);
      for (const auto& ref : order_of(sampler, epoch)) {
        ++drawn[static_cast<std::size_t>(ref.source)];
        ++uses[{ref.source, ref.index}];
        EXPECT_TRUE((drawn_in_pass.insert({ref.source, ref.index, ref.pass}).second)) << "twice in one pass";
      }
      EXPECT_EQ(drawn, (std::vector<std::int64_t>{30, 20, 4, 15}));
      for (std::int64_t source = 0; source < 4; ++source) {
        const auto n = sampler.sources()[static_cast<std::size_t>(source)].samples;
        const auto draws = sampler.draws_per_epoch(source) * (epoch + 1);
        for (std::int64_t i = 0; i < n; ++i) {
          EXPECT_GE((uses[{source, i}]), draws / n);
          EXPECT_LE((uses[{source, i}]), (draws + n - 1) / n);
        }
      }
    }
  }
}

TEST(Sampler, ShuffleMixesTheSources) {
  const Sampler sampler({{.samples = 500}, {.samples = 500}}, 9, true);
  const auto order = order_of(sampler, 0);
  int changes = 0;
  for (std::size_t i = 1; i < order.size(); ++i) changes += order[i].source != order[i - 1].source ? 1 : 0;
  EXPECT_GT(changes, 400);
  EXPECT_LT(changes, 600);
}

TEST(Sampler, IdsPackSourceAndIndex) {
  const auto id = sample_id(3, 123456789012);
  EXPECT_EQ(source_of(id), 3);
  EXPECT_EQ(index_of(id), 123456789012);
}

TEST(Sampler, Errors) {
  try {
    Sampler({{.samples = 5}, {.samples = 0}}, 1, true);
    FAIL();
  } catch (const UserError& e) {
    EXPECT_EQ(e.message(), "data source 2 of 2 has no samples");
  }
  try {
    Sampler({{.samples = 4, .weight = 0.1}}, 1, true);
    FAIL();
  } catch (const UserError& e) {
    EXPECT_EQ(e.message(),
              "data source 1 of 1: weight 0.1 of 4 samples makes 0 samples an epoch; allowed are 1 to 2^48");
  }
}

}  // namespace
}  // namespace dtrain
