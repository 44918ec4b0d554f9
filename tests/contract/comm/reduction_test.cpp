// SPDX-License-Identifier: Apache-2.0
#include "core/comm/exchange.h"
#include "core/comm/reducer.h"
#include "tests/contract/comm/comm_contract.h"
#include "tests/contract/comm/lane_data.h"

namespace dtrain::test {
namespace {

using Kind = RecoverableError::Kind;

struct Case {
  int ranks;
  int lanes;
  std::vector<bool> present;
};

std::vector<Vector> all_gradients(int lanes, std::size_t size, std::uint64_t seed) {
  std::vector<Vector> out;
  for (int lane = 0; lane < lanes; ++lane) out.push_back(lane_gradient(lane, size, seed));
  return out;
}

void reduce(Reducer& reducer, const RankLanes& lanes, const std::vector<bool>& present, Vector& out) {
  reducer.begin(lanes.parts(), present, out);
  for (std::size_t bucket = 0; bucket < 4; ++bucket) reducer.start(bucket);
  reducer.finish();
}

// Three steps with one reducer: all lanes, those of the case, all again.
void check_bits(const Backend& backend, const Case& c) {
  constexpr std::size_t kSize = 20'011;
  const auto owners = even_ranges(c.lanes, c.ranks);
  const auto buckets = uneven_buckets(kSize, static_cast<std::size_t>(c.ranks));
  backend.run(c.ranks, [&](Seat& seat) {
    const auto group = c.ranks == 1 ? nullptr : seat.group();
    const auto reducer = make_canonical_reducer(group.get(), owners, c.lanes, buckets);
    const std::vector<bool> all(static_cast<std::size_t>(c.lanes), true);
    for (std::uint64_t step = 0; step < 3; ++step) {
      const auto& present = step == 1 ? c.present : all;
      const auto gradients = all_gradients(c.lanes, kSize, step);
      const RankLanes lanes(owners[static_cast<std::size_t>(seat.rank)], c.lanes, present, gradients);
      const auto before = lanes.buffers();
      Vector out(kSize, 123.0f);
      reduce(*reducer, lanes, present, out);
      const auto expected = tree_sum(root_of(c.lanes), c.lanes, present, gradients).value_or(Vector(kSize, 0.0f));
      EXPECT_EQ(differences(out, expected), 0u) << c.ranks << " ranks, " << c.lanes << " lanes, step " << step;
      for (std::size_t i = 0; i < before.size(); ++i) EXPECT_EQ(differences(lanes.buffers()[i], before[i]), 0u);
    }
  });
}

TEST_P(ReductionContract, CanonicalBitsDoNotDependOnTheRanks) {
  for (const int lanes : {7, 8, 16}) {
    std::vector<bool> some(static_cast<std::size_t>(lanes));
    for (std::size_t lane = 0; lane < some.size(); ++lane) some[lane] = lane % 3 == 1 || lane == 4;
    for (const int ranks : {1, 2, 3, 4, 7}) check_bits(GetParam(), {ranks, lanes, some});
  }
}

TEST_P(ReductionContract, AbsentLanes) {
  check_bits(GetParam(), {3, 5, {false, false, false, false, true}});
  check_bits(GetParam(), {3, 5, {true, false, false, false, false}});
  check_bits(GetParam(), {2, 4, {false, false, false, false}});
}

TEST_P(ReductionContract, NativeIsCloseToCanonical) {
  constexpr std::size_t kSize = 5'003;
  constexpr int kRanks = 3, kLanes = 6;
  const auto owners = even_ranges(kLanes, kRanks);
  GetParam().run(kRanks, [&](Seat& seat) {
    const auto group = seat.group();
    const auto reducer = make_native_reducer(group.get(), owners, kLanes, uneven_buckets(kSize, kRanks));
    std::vector<Vector> gradients;
    for (int lane = 0; lane < kLanes; ++lane) {
      gradients.emplace_back(kSize);
      for (std::size_t i = 0; i < kSize; ++i) {
        gradients.back()[i] = static_cast<float>(std::sin(static_cast<double>(i) + 31.0 * lane));
      }
    }
    const std::vector<bool> present{true, true, true, true, true, false};
    const RankLanes lanes(owners[static_cast<std::size_t>(seat.rank)], kLanes, present, gradients);
    Vector out(kSize);
    reduce(*reducer, lanes, present, out);
    for (std::size_t i = 0; i < kSize; ++i) {
      double exact = 0;
      for (std::size_t lane = 0; lane < 5; ++lane) exact += static_cast<double>(gradients[lane][i]);
      ASSERT_NEAR(out[i], exact, 1e-5);
    }
  });
}

TEST_P(ReductionContract, AfterAbortItThrowsAndTheInputsStay) {
  constexpr std::size_t kSize = 100'000;
  const auto owners = even_ranges(4, 2);
  const std::vector<bool> present(4, true);
  for (const bool native : {false, true}) {
    GetParam().run(2, [&](Seat& seat) {
      const auto group = seat.group();
      const auto make = native ? make_native_reducer : make_canonical_reducer;
      const auto reducer = make(group.get(), owners, 4, uneven_buckets(kSize, 2));
      if (seat.rank == 1) return seat.await("aborted");  // never reduces
      const RankLanes lanes(owners[0], 4, present, all_gradients(4, kSize, 1));
      const auto before = lanes.buffers();
      Vector out(kSize);
      reducer->begin(lanes.parts(), present, out);
      for (std::size_t bucket = 0; bucket < 4; ++bucket) reducer->start(bucket);
      group->abort();
      EXPECT_EQ(thrown_by<RecoverableError>([&] { reducer->finish(); }).kind(), Kind::aborted);
      EXPECT_EQ(differences(lanes.buffers()[0], before[0]), 0u);
      EXPECT_THROW(reduce(*reducer, lanes, present, out), RecoverableError);
      seat.signal("aborted");
    });
  }
}

TEST_P(ReductionContract, ALostPeerEndsTheReductionEverywhere) {
  constexpr std::size_t kSize = 100'000;
  const auto owners = even_ranges(3, 3);
  const std::vector<bool> present(3, true);
  GetParam().run(3, [&](Seat& seat) {
    auto group = seat.group();
    auto reducer = make_canonical_reducer(group.get(), owners, 3, uneven_buckets(kSize, 3));
    const RankLanes lanes(owners[static_cast<std::size_t>(seat.rank)], 3, present, all_gradients(3, kSize, 1));
    Vector out(kSize);
    reducer->begin(lanes.parts(), present, out);
    if (seat.rank == 1) {  // leaves in the middle of its step
      reducer->start(0);
      reducer.reset();
      return;
    }
    for (std::size_t bucket = 0; bucket < 4; ++bucket) reducer->start(bucket);
    EXPECT_EQ(thrown_by<RecoverableError>([&] { reducer->finish(); }).kind(), Kind::peer_lost);
  });
}

TEST_P(ReductionContract, RanksThatPlanDifferentlyAreNamed) {
  GetParam().run(2, [&](Seat& seat) {
    const auto group = seat.group();
    const auto error = thrown_by<InvariantError>([&] {
      make_canonical_reducer(group.get(), even_ranges(4, 2), 4, uneven_buckets(seat.rank == 0 ? 1000 : 1001, 2));
    });
    EXPECT_THAT(error.what(), testing::AllOf(testing::HasSubstr("4 lanes, 1000 elements in 4 buckets"),
                                             testing::HasSubstr("4 lanes, 1001 elements in 4 buckets"),
                                             testing::HasSubstr("rank 0"), testing::HasSubstr("rank 1")));
    seat.signal("seen-" + std::to_string(seat.rank));
    seat.await("seen-" + std::to_string(1 - seat.rank));
  });
}

TEST_P(ReductionContract, AllGatherOfDifferentSizes) {
  GetParam().run(3, [](Seat& seat) {
    const auto group = seat.group();
    auto of = [](int rank, int round) {
      constexpr std::size_t kSizes[] = {0, 1, 4088, 4089, 100'000};
      return std::vector<std::byte>(kSizes[(rank * 2 + round) % 5], static_cast<std::byte>(rank + 1));
    };
    for (int round = 0; round < 5; ++round) {
      const auto all = all_gather_bytes(*group, of(seat.rank, round));
      ASSERT_EQ(all.size(), 3u);
      for (int rank = 0; rank < 3; ++rank) EXPECT_EQ(all[static_cast<std::size_t>(rank)], of(rank, round));
    }
  });
}

TEST_P(ReductionContract, BarrierHoldsEveryRank) {
  GetParam().run(3, [](Seat& seat) {
    const auto group = seat.group();
    seat.signal("entered-" + std::to_string(seat.rank));
    barrier(*group);
    for (int rank = 0; rank < 3; ++rank) EXPECT_TRUE(seat.happened("entered-" + std::to_string(rank)));
  });
}

TEST_P(ReductionContract, HostBroadcast) {
  for (const int ranks : {1, 2, 3, 5}) {
    GetParam().run(ranks, [ranks](Seat& seat) {
      const auto group = seat.group();
      for (int root = 0; root < ranks; ++root) {
        std::vector<std::byte> data(777, static_cast<std::byte>(seat.rank));
        broadcast(*group, data, root);
        EXPECT_THAT(data, testing::Each(static_cast<std::byte>(root)));
      }
    });
  }
}

TEST_P(ReductionContract, HostBroadcastNamesBothSizes) {
  GetParam().run(2, [](Seat& seat) {
    const auto group = seat.group();
    std::vector<std::byte> data(seat.rank == 0 ? 10 : 20);
    if (seat.rank == 1) {
      EXPECT_THAT(thrown_by<InvariantError>([&] { broadcast(*group, data, 0); }).what(),
                  testing::HasSubstr("broadcast from rank 0: rank 0 has 10 bytes, rank 1 expects 20"));
    } else {
      EXPECT_EQ(thrown_by<RecoverableError>([&] { broadcast(*group, data, 0); }).kind(), Kind::peer_lost);
    }
  });
}

}  // namespace
}  // namespace dtrain::test
