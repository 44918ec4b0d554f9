// SPDX-License-Identifier: Apache-2.0
#include <thread>

#include "tests/contract/comm/comm_contract.h"

namespace dtrain::test {
namespace {

using Kind = RecoverableError::Kind;
using Clock = std::chrono::steady_clock;
using Numbers = std::vector<std::uint32_t>;

// Far above what ending a wait takes, far below the group's time limit of 20 s.
constexpr auto kSoon = 8s;

TEST_P(CommContract, AbortEndsWaitsOfOtherThreads) {
  run(2, [](Seat& seat) {
    const auto group = seat.group();
    if (seat.rank == 1) return seat.await("aborted");  // silent, and alive
    Numbers small(4), large(4 << 20, 5);
    const auto receive = group->receive(room_of(small), 1, 1);
    const auto send = group->send(bytes_of(large), 1, 2);
    const auto begin = Clock::now();
    {
      std::vector<std::jthread> threads;
      for (auto* work : {receive.get(), send.get()}) {
        threads.emplace_back(
            [work] { EXPECT_EQ(thrown_by<RecoverableError>([&] { work->wait(); }).kind(), Kind::aborted); });
      }
      group->abort();
    }
    EXPECT_LT(Clock::now() - begin, kSoon);
    seat.signal("aborted");
  });
}

TEST_P(CommContract, NothingWorksAfterAbort) {
  run(2, [](Seat& seat) {
    const auto group = seat.group();
    Numbers data(4);
    const auto pending = group->receive(room_of(data), 1 - seat.rank, 9);
    group->abort();
    group->abort();
    auto kind = [](const std::function<void()>& action) { return thrown_by<RecoverableError>(action).kind(); };
    EXPECT_EQ(kind([&] { pending->wait(); }), Kind::aborted);
    EXPECT_EQ(kind([&] { pending->wait(); }), Kind::aborted);
    EXPECT_EQ(kind([&] { group->send(bytes_of(data), 1 - seat.rank, 1)->wait(); }), Kind::aborted);
    EXPECT_EQ(kind([&] { group->receive(room_of(data), 1 - seat.rank, 1)->wait(); }), Kind::aborted);
    if (group->capabilities().contains("all_reduce")) {
      EXPECT_EQ(kind([&] { group->all_reduce(data.data(), 4, DType::i32, ReduceOp::sum)->wait(); }), Kind::aborted);
    }
    if (group->capabilities().contains("broadcast")) {
      EXPECT_EQ(kind([&] { group->broadcast(room_of(data), 0)->wait(); }), Kind::aborted);
    }
  });
}

TEST_P(CommContract, ALateMessageIsNotWrittenAfterAbort) {
  run(2, [](Seat& seat) {
    const auto group = seat.group();
    Numbers data(1 << 16, 7);
    if (seat.rank == 0) {
      const auto work = group->receive(room_of(data), 1, 1);
      seat.signal("armed");
      group->abort();
      seat.signal("aborted");
      seat.await("sent");
      EXPECT_EQ(data, Numbers(1 << 16, 7));
    } else {
      seat.await("armed");
      seat.await("aborted");
      Numbers late(1 << 16, 8);
      EXPECT_EQ(thrown_by<RecoverableError>([&] { group->send(bytes_of(late), 0, 1)->wait(); }).kind(),
                Kind::peer_lost);
      seat.signal("sent");
    }
  });
}

TEST_P(CommContract, APeerThatLeavesIsLost) {
  run(3, [](Seat& seat) {
    auto group = seat.group();
    if (seat.rank == 1) {
      seat.await("waiting-0");
      seat.await("waiting-2");
      group.reset();
      return;
    }
    Numbers data(4);
    const auto work = group->receive(room_of(data), 1, 1);
    seat.signal("waiting-" + std::to_string(seat.rank));
    const auto begin = Clock::now();
    const auto error = thrown_by<RecoverableError>([&] { work->wait(); });
    EXPECT_LT(Clock::now() - begin, kSoon);
    EXPECT_EQ(error.kind(), Kind::peer_lost) << error.what();
    EXPECT_EQ(error.peer(), 1);
    EXPECT_THAT(error.what(), testing::HasSubstr("receive of 16 bytes from rank 1"));
    // A later operation fails too, at its start or in its wait.
    EXPECT_THROW(group->receive(room_of(data), 1, 2)->wait(), RecoverableError);
    seat.signal("over-" + std::to_string(seat.rank));
    seat.await("over-" + std::to_string(2 - seat.rank));
  });
}

TEST_P(CommContract, MessagesSentBeforeLeavingArrive) {
  run(2, [](Seat& seat) {
    auto group = seat.group();
    Numbers data(1000, seat.rank == 0 ? 6 : 0);
    if (seat.rank == 0) {
      group->send(bytes_of(data), 1, 1)->wait();
      group.reset();
    } else {
      group->receive(room_of(data), 0, 1)->wait();
      EXPECT_EQ(data, Numbers(1000, 6));
    }
  });
}

TEST_P(CommContract, ASilentPeerRunsIntoTheTimeLimit) {
  run(2, [](Seat& seat) {
    const auto group = seat.group(seat.rank == 0 ? 300ms : 20'000ms);
    if (seat.rank == 1) return seat.await("over");
    Numbers data(4);
    const auto begin = Clock::now();
    const auto error = thrown_by<RecoverableError>([&] { group->receive(room_of(data), 1, 1)->wait(); });
    const auto took = Clock::now() - begin;
    EXPECT_EQ(error.kind(), Kind::timeout);
    EXPECT_EQ(error.peer(), 1);
    EXPECT_THAT(error.what(),
                testing::AllOf(testing::HasSubstr("receive of 16 bytes from rank 1"), testing::HasSubstr("300 ms")));
    EXPECT_GT(took, 200ms);
    EXPECT_LT(took, kSoon);
    seat.signal("over");
  });
}

TEST_P(CommContract, GenerationsDoNotMix) {
  run(2, [](Seat& seat) {
    auto old_group = seat.group(20s, 1);
    Numbers old_data(4, 1), data(4, 2);
    const auto left_behind = seat.rank == 0 ? old_group->send(bytes_of(old_data), 1, 1) : nullptr;
    const auto group = seat.group(20s, 2);
    const auto work = seat.rank == 0 ? group->send(bytes_of(data), 1, 1) : group->receive(room_of(data), 0, 1);
    work->wait();
    EXPECT_EQ(data, Numbers(4, 2));
    old_group->abort();
    if (left_behind) {
      EXPECT_THROW(left_behind->wait(), RecoverableError);
    }
    seat.signal("done-" + std::to_string(seat.rank));
    seat.await("done-" + std::to_string(1 - seat.rank));
  });
}

TEST_P(CommContract, ARankOfAnotherGenerationIsNotFound) {
  run(2, [](Seat& seat) {
    const auto error = thrown_by<RecoverableError>([&] {
      const auto group = seat.group(300ms, static_cast<std::uint64_t>(seat.rank) + 10);
      Numbers data(4);
      const auto work = seat.rank == 0 ? group->send(bytes_of(data), 1, 1) : group->receive(room_of(data), 0, 1);
      work->wait();
    });
    EXPECT_EQ(error.kind(), Kind::timeout);
    EXPECT_EQ(error.peer(), 1 - seat.rank);
  });
}

}  // namespace
}  // namespace dtrain::test
