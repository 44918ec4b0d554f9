// SPDX-License-Identifier: Apache-2.0
//
// What only real processes can do to each other: be killed, be stopped.
#include <sys/wait.h>

#include <csignal>
#include <thread>

#include "tests/contract/comm/children.h"
#include "tests/contract/comm/comm_contract.h"
#include "tests/support/temp_folder.h"

#if !defined(__SANITIZE_THREAD__)
namespace dtrain::test {
namespace {

using Kind = RecoverableError::Kind;
using Clock = std::chrono::steady_clock;
using Numbers = std::vector<std::uint32_t>;

constexpr auto kSoon = 8s;                            // the group's time limit is 20 s
constexpr std::size_t kHuge = std::size_t{64} << 20;  // 256 MiB of numbers: more than sockets hold

std::span<const std::byte> bytes_of(const Numbers& values) {
  return std::as_bytes(std::span(values));
}
std::span<std::byte> room_of(Numbers& values) {
  return std::as_writable_bytes(std::span(values));
}

class GlooProcesses : public testing::Test {
 protected:
  TempFolder folder_;
};

TEST_F(GlooProcesses, AKilledPeerIsLostAtOnceAndSurvivorsGoOn) {
  Children ranks(folder_.path(), 3, gloo_join(), [](Seat& seat) {
    const auto group = seat.group();
    Numbers data(4);
    if (seat.rank == 1) {
      std::raise(SIGSTOP);
      return;
    }
    const auto work = group->receive(room_of(data), 1, 1);
    seat.signal("waiting-" + std::to_string(seat.rank));
    const auto error = thrown_by<RecoverableError>([&] { work->wait(); });
    EXPECT_EQ(error.kind(), Kind::peer_lost) << error.what();
    EXPECT_EQ(error.peer(), 1);
    group->abort();
    // The next generation.
    Seat next = seat;
    next.size = 2;
    next.rank = seat.rank / 2;
    const auto survivors = next.group(20s, 2);
    const auto again = next.rank == 0 ? survivors->send(bytes_of(data), 1, 1) : survivors->receive(room_of(data), 0, 1);
    again->wait();
  });
  ranks.wait_stopped(1);
  ranks.board().get("event-waiting-0", 60s);
  ranks.board().get("event-waiting-2", 60s);
  const auto begin = Clock::now();
  ranks.signal(1, SIGKILL);
  EXPECT_EQ(ranks.wait(1), "signal 9");
  EXPECT_EQ(ranks.wait(0), "exit 0");
  EXPECT_EQ(ranks.wait(2), "exit 0");
  EXPECT_LT(Clock::now() - begin, kSoon);
}

TEST_F(GlooProcesses, AReceiverKilledInTheMiddleOfAMessage) {
  Children ranks(folder_.path(), 2, gloo_join(), [](Seat& seat) {
    const auto group = seat.group();
    Numbers data(kHuge, 1);
    if (seat.rank == 1) {
      const auto work = group->receive(room_of(data), 0, 1);
      std::raise(SIGSTOP);
      return;
    }
    seat.await("stopped");
    const auto work = group->send(bytes_of(data), 1, 1);
    seat.signal("sending");
    const auto error = thrown_by<RecoverableError>([&] { work->wait(); });
    EXPECT_EQ(error.kind(), Kind::peer_lost) << error.what();
    EXPECT_EQ(error.peer(), 1);
  });
  ranks.wait_stopped(1);
  ranks.board().set("event-stopped", {});
  ranks.board().get("event-sending", 60s);
  const auto begin = Clock::now();
  ranks.signal(1, SIGKILL);
  EXPECT_EQ(ranks.wait(0), "exit 0");
  EXPECT_LT(Clock::now() - begin, kSoon);
}

// The sender may be done before it stops itself; then the receiver must have the whole message.
TEST_F(GlooProcesses, ASenderKilledInTheMiddleOfAMessage) {
  Children ranks(folder_.path(), 2, gloo_join(), [](Seat& seat) {
    const auto group = seat.group();
    Numbers data(kHuge, seat.rank == 1 ? 5 : 0);
    if (seat.rank == 1) {
      const auto work = group->send(bytes_of(data), 0, 1);
      seat.await("armed");
      std::raise(SIGSTOP);
      return;
    }
    const auto work = group->receive(room_of(data), 1, 1);
    seat.signal("armed");
    try {
      work->wait();
      EXPECT_EQ(data, Numbers(kHuge, 5));
    } catch (const RecoverableError& error) {
      EXPECT_EQ(error.kind(), Kind::peer_lost) << error.what();
      EXPECT_EQ(error.peer(), 1);
    }
  });
  ranks.wait_stopped(1);
  const auto begin = Clock::now();
  ranks.signal(1, SIGKILL);
  EXPECT_EQ(ranks.wait(0), "exit 0");
  EXPECT_LT(Clock::now() - begin, kSoon);
}

TEST_F(GlooProcesses, AStoppedPeerRunsIntoTheTimeLimit) {
  Children ranks(folder_.path(), 2, gloo_join(), [](Seat& seat) {
    const auto group = seat.group(700ms);
    Numbers data(4);
    if (seat.rank == 1) {
      std::raise(SIGSTOP);
      return;
    }
    seat.await("stopped");
    const auto error = thrown_by<RecoverableError>([&] { group->receive(room_of(data), 1, 1)->wait(); });
    EXPECT_EQ(error.kind(), Kind::timeout);
    EXPECT_EQ(error.peer(), 1);
    EXPECT_THAT(error.what(),
                testing::HasSubstr("receive of 16 bytes from rank 1 in group world: nothing came within 700 ms"));
  });
  ranks.wait_stopped(1);
  ranks.board().set("event-stopped", {});
  EXPECT_EQ(ranks.wait(0), "exit 0");
}

TEST_F(GlooProcesses, AbortFreesWhoeverWaitsForAStoppedPeer) {
  Children ranks(folder_.path(), 2, gloo_join(), [](Seat& seat) {
    const auto group = seat.group();
    Numbers small(4), data(kHuge, 1);
    if (seat.rank == 1) {
      const auto work = group->receive(room_of(data), 0, 2);
      std::raise(SIGSTOP);
      return;
    }
    seat.await("stopped");
    const auto receive = group->receive(room_of(small), 1, 1);
    const auto send = group->send(bytes_of(data), 1, 2);  // stuck half way
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
  });
  ranks.wait_stopped(1);
  ranks.board().set("event-stopped", {});
  EXPECT_EQ(ranks.wait(0), "exit 0");
}

TEST_F(GlooProcesses, ARankKilledInACollectiveEndsItEverywhere) {
  Children ranks(folder_.path(), 3, gloo_join(), [](Seat& seat) {
    const auto group = seat.group();
    std::vector<float> data(1 << 22, 1.0f);
    if (seat.rank == 1) {
      std::raise(SIGKILL);
    }
    const auto error = thrown_by<RecoverableError>(
        [&] { group->all_reduce(data.data(), data.size(), DType::f32, ReduceOp::sum)->wait(); });
    EXPECT_EQ(error.kind(), Kind::peer_lost) << error.what();
    EXPECT_THAT(error.what(), testing::HasSubstr("all-reduce of 4194304 elements F32 in group world"));
  });
  const auto begin = Clock::now();
  EXPECT_EQ(ranks.wait(1), "signal 9");
  EXPECT_EQ(ranks.wait(0), "exit 0");
  EXPECT_EQ(ranks.wait(2), "exit 0");
  EXPECT_LT(Clock::now() - begin, kSoon);
}

TEST_F(GlooProcesses, ARankThatNeverComesIsNamed) {
  Children ranks(folder_.path(), 2, gloo_join(), [](Seat& seat) {
    if (seat.rank == 1) return;
    const auto error = thrown_by<RecoverableError>([&] { seat.group(300ms); });
    EXPECT_EQ(error.kind(), Kind::timeout);
    EXPECT_EQ(error.peer(), 1);
    EXPECT_THAT(error.what(),
                testing::MatchesRegex("rank 0 on host .* \\(127.0.0.1\\) waited for rank 1 to join group world: .*"));
  });
  EXPECT_EQ(ranks.wait(0), "exit 0");
  EXPECT_EQ(ranks.wait(1), "exit 0");
}

}  // namespace
}  // namespace dtrain::test
#endif
