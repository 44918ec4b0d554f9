// SPDX-License-Identifier: Apache-2.0
//
// The loader threads over the plugin that misbehaves on request: what reaches the thread that trains.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <sstream>

#include "core/data/batch_reader.h"
#include "tests/contract/data/data_under_test.h"

namespace dtrain {
namespace {

class FaultyData : public testing::Test {
 protected:
  struct Run {
    std::map<std::int64_t, std::uint32_t> draws;  // by sample
    std::vector<std::int64_t> ids;
  };

  auto open(OptionValues options, std::uint64_t seed = 1) const { return plugin_.make({.seed = seed}, options); }

  // All micro-batches of a rank for `steps` steps of 8 samples in micro-batches of 2, 4 lanes.
  template <class Look>
  void read_rank(const DataSet& set, int rank, int world, std::uint64_t seed, std::int64_t steps, Look&& look) const {
    const Sampler sampler({{.samples = set.size()}}, seed, true);
    const StepLayout layout({.samples = set.size(), .global_batch = 8, .micro_batch = 2, .lanes = 4});
    BatchReader reader(
        {.source = {.sources = {&set}, .sampler = &sampler, .layout = &layout, .seed = seed, .rank = rank},
         .world = world,
         .loaders = 2,
         .end_step = steps});
    for (std::int64_t step = 0; step < steps; ++step) {
      for (auto n = layout.of_rank(layout.step(step), rank, world).size(); n > 0; --n) look(*reader.next());
    }
  }

  // The draws that the data set logged while a rank read one epoch.
  std::map<std::int64_t, std::uint32_t> logged_draws(int rank, int world, std::uint64_t seed) const {
    const auto log = folder_.path() / "draws.log";
    std::filesystem::remove(log);
    const auto set = open({{"log", log.string()}}, seed);
    read_rank(*set, rank, world, seed, 5, [](const HostBatch&) {});
    std::istringstream in(test::read_file(log));
    std::map<std::int64_t, std::uint32_t> draws;
    std::int64_t pid = 0;
    std::int64_t index = 0;
    std::uint32_t draw = 0;
    while (in >> pid >> index >> draw) EXPECT_TRUE(draws.emplace(index, draw).second) << index << " read twice";
    return draws;
  }

  TempFolder folder_;
  test::PluginComponent<DataKind> plugin_{DTRAIN_TEST_PLUGINS "/data_faulty.so", "faulty"};
};

TEST_F(FaultyData, ErrorsReachTheReaderWithTheirType) {
  auto read = [&](const std::string& type) {
    const auto set = open({{"throw_at", std::int64_t{17}}, {"throw_type", type}});
    read_rank(*set, 0, 1, 1, 5, [](const HostBatch&) {});
  };
  EXPECT_EQ(test::message_of([&] { read("user"); }), "data faulty: sample 17 is damaged");
  EXPECT_THROW(read("standard"), std::runtime_error);
  EXPECT_THROW(read("other"), std::int64_t);
}

TEST_F(FaultyData, NonFiniteNumbersArriveWhereTheyAre) {
  const auto set = open({{"nan_at", std::int64_t{23}}});
  int found = 0;
  read_rank(*set, 0, 1, 1, 5, [&](const HostBatch& batch) {
    for (std::int64_t i = 0; i < batch.count; ++i) {
      float value = 0;
      std::memcpy(&value, batch.field(0).data() + i * 16, 4);
      EXPECT_EQ(std::isnan(value), batch.ids()[static_cast<std::size_t>(i)] == 23);
      found += std::isnan(value) ? 1 : 0;
    }
  });
  EXPECT_EQ(found, 1);
}

TEST_F(FaultyData, SlowSamplesDoNotChangeTheOrder) {
  std::vector<std::uint64_t> plain;
  std::vector<std::uint64_t> slow;
  read_rank(*open({}), 0, 1, 1, 5,
            [&](const HostBatch& b) { plain.insert(plain.end(), b.ids().begin(), b.ids().end()); });
  const auto set = open({{"sleep_at", static_cast<std::int64_t>(plain[3])}, {"sleep_s", 0.05}});
  read_rank(*set, 0, 1, 1, 5, [&](const HostBatch& b) { slow.insert(slow.end(), b.ids().begin(), b.ids().end()); });
  EXPECT_EQ(plain, slow);
}

// Two ranks of two loaders each: no two samples share their random numbers; the same seed repeats them, another does
// not.
TEST_F(FaultyData, AugmentationDiffersBetweenSamplesAndRepeatsWithTheSeed) {
  const auto rank0 = logged_draws(0, 2, 1);
  const auto rank1 = logged_draws(1, 2, 1);
  EXPECT_EQ(rank0.size() + rank1.size(), 40u);
  std::set<std::uint32_t> distinct;
  for (const auto* draws : {&rank0, &rank1}) {
    for (const auto& [index, draw] : *draws) EXPECT_TRUE(distinct.insert(draw).second);
  }
  EXPECT_EQ(logged_draws(0, 2, 1), rank0);
  const auto whole = logged_draws(0, 1, 1);
  for (const auto& [index, draw] : rank1) EXPECT_EQ(whole.at(index), draw);
  const auto other = logged_draws(0, 1, 2);
  for (const auto& [index, draw] : other) EXPECT_NE(whole.at(index), draw);
}

}  // namespace
}  // namespace dtrain
