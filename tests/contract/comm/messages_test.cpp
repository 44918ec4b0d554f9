// SPDX-License-Identifier: Apache-2.0
#include <numeric>
#include <thread>

#include "tests/contract/comm/comm_contract.h"

namespace dtrain::test {
namespace {

using Numbers = std::vector<std::uint32_t>;

TEST_P(CommContract, KnowsItsPlace) {
  run(3, [](Seat& seat) {
    const auto group = seat.group();
    EXPECT_EQ(group->rank(), seat.rank);
    EXPECT_EQ(group->size(), 3);
  });
}

TEST_P(CommContract, MessagesOfOneTagArriveInOrder) {
  run(2, [](Seat& seat) {
    const auto group = seat.group();
    std::vector<Numbers> data(10, Numbers(3));
    std::vector<std::unique_ptr<Work>> works;
    for (std::uint32_t i = 0; i < data.size(); ++i) {
      if (seat.rank == 0) std::iota(data[i].begin(), data[i].end(), 100 * i);
      works.push_back(seat.rank == 0 ? group->send(bytes_of(data[i]), 1, 7) : group->receive(room_of(data[i]), 0, 7));
    }
    for (auto& work : works) work->wait();
    for (std::uint32_t i = 0; i < data.size(); ++i) EXPECT_EQ(data[i], (Numbers{100 * i, 100 * i + 1, 100 * i + 2}));
    for (auto& work : works) EXPECT_TRUE(work->done());
  });
}

TEST_P(CommContract, TagsAreTakenInAnyOrder) {
  run(2, [](Seat& seat) {
    const auto group = seat.group();
    constexpr std::uint64_t kTags[] = {5, 0, ~std::uint64_t{0}, std::uint64_t{1} << 63, 0x0400000000000000};
    std::vector<Numbers> data(5, Numbers(2));
    std::vector<std::unique_ptr<Work>> works;
    for (std::size_t i = 0; i < 5; ++i) {
      if (seat.rank == 0) {
        data[i] = {static_cast<std::uint32_t>(i), 77};
        works.push_back(group->send(bytes_of(data[i]), 1, kTags[i]));
      } else {
        works.push_back(group->receive(room_of(data[4 - i]), 0, kTags[4 - i]));
      }
    }
    for (auto work = works.rbegin(); work != works.rend(); ++work) (*work)->wait();
    for (std::uint32_t i = 0; i < 5; ++i) EXPECT_EQ(data[i], (Numbers{i, 77}));
  });
}

TEST_P(CommContract, EmptyMessagesSynchronise) {
  run(2, [](Seat& seat) {
    const auto group = seat.group();
    if (seat.rank == 0) {
      seat.signal("sending");
      group->send({}, 1, 1)->wait();
    } else {
      group->receive({}, 0, 1)->wait();
      EXPECT_TRUE(seat.happened("sending"));
    }
  });
}

TEST_P(CommContract, LargeMessagesBothWays) {
  run(2, [](Seat& seat) {
    const auto group = seat.group();
    Numbers mine(16 << 20), theirs(16 << 20);  // 64 MiB
    for (std::uint32_t i = 0; i < mine.size(); ++i) mine[i] = i * 2654435761u + static_cast<std::uint32_t>(seat.rank);
    const auto receive = group->receive(room_of(theirs), 1 - seat.rank, 1);
    const auto send = group->send(bytes_of(mine), 1 - seat.rank, 1);
    receive->wait();
    send->wait();
    std::size_t wrong = 0;
    for (std::uint32_t i = 0; i < theirs.size(); ++i) {
      wrong += theirs[i] != i * 2654435761u + static_cast<std::uint32_t>(1 - seat.rank);
    }
    EXPECT_EQ(wrong, 0u);
  });
}

TEST_P(CommContract, EveryPairAtOnce) {
  run(4, [](Seat& seat) {
    const auto group = seat.group();
    std::vector<Numbers> out(4), in(4);
    std::vector<std::unique_ptr<Work>> works;
    for (int peer = 0; peer < 4; ++peer) {
      if (peer == seat.rank) continue;
      const auto p = static_cast<std::size_t>(peer);
      out[p].assign(1000 * (p + 1), static_cast<std::uint32_t>(10 * seat.rank + peer));
      in[p].resize(1000 * (static_cast<std::size_t>(seat.rank) + 1));
      works.push_back(group->send(bytes_of(out[p]), peer, 3));
      works.push_back(group->receive(room_of(in[p]), peer, 3));
    }
    for (auto& work : works) work->wait();
    for (int peer = 0; peer < 4; ++peer) {
      const auto expected = static_cast<std::uint32_t>(10 * peer + seat.rank);
      EXPECT_THAT(in[static_cast<std::size_t>(peer)], testing::Each(expected));
    }
  });
}

TEST_P(CommContract, AnotherThreadMayWait) {
  run(2, [](Seat& seat) {
    const auto group = seat.group();
    Numbers data(1000, 9);
    const auto work = seat.rank == 0 ? group->send(bytes_of(data), 1, 1) : group->receive(room_of(data), 0, 1);
    std::jthread([&] { work->wait(); });
    EXPECT_EQ(data, Numbers(1000, 9));
  });
}

TEST_P(CommContract, RefusesPeersThatAreNotThere) {
  run(2, [](Seat& seat) {
    const auto group = seat.group();
    Numbers data(4, 1);
    for (const int peer : {-1, 2, seat.rank}) {
      EXPECT_THROW(group->send(bytes_of(data), peer, 1), InvariantError);
      EXPECT_THROW(group->receive(room_of(data), peer, 1), InvariantError);
    }
    const auto work = seat.rank == 0 ? group->send(bytes_of(data), 1, 1) : group->receive(room_of(data), 0, 1);
    work->wait();  // the group is as good as before
  });
}

TEST_P(CommContract, SizesThatDifferNeverMatch) {
  run(2, [](Seat& seat) {
    const auto group = seat.group(500ms);
    Numbers data(seat.rank == 0 ? 100 : 50, 1);
    const auto work = seat.rank == 0 ? group->send(bytes_of(data), 1, 1) : group->receive(room_of(data), 0, 1);
    try {
      work->wait();
      ADD_FAILURE() << "400 bytes sent, 200 received, and nobody said so";
    } catch (const InvariantError& e) {
      EXPECT_TRUE(GetParam().reports_size_mismatch);
      EXPECT_THAT(e.what(), testing::AllOf(testing::HasSubstr("400 bytes to rank 1"),
                                           testing::HasSubstr("200 bytes from rank 0")));
    } catch (const RecoverableError& e) {
      EXPECT_FALSE(GetParam().reports_size_mismatch);
      EXPECT_NE(e.kind(), RecoverableError::Kind::aborted);
      EXPECT_THAT(e.what(), testing::HasSubstr(seat.rank == 0 ? "send of 400 bytes to rank 1"
                                                              : "receive of 200 bytes from rank 0"));
    }
    if (seat.rank == 0) {
      EXPECT_EQ(data, Numbers(100, 1));
    }
  });
}

}  // namespace
}  // namespace dtrain::test
