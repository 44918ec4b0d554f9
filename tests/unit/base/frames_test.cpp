// SPDX-License-Identifier: Apache-2.0
#include "core/base/frames.h"

#include <dtrain/error.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>

#include "core/base/channel.h"

namespace dtrain {
namespace {

using namespace std::chrono_literals;

TEST(Frames, ArriveInOrderWithTheirBytes) {
  auto [a, b] = socket_pair();
  FrameSocket left(std::move(a)), right(std::move(b));
  const std::string bytes("\0\n\xff", 3);
  left.send(1, "");
  left.send(200, bytes);
  auto first = right.next(1s), second = right.next(1s);
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->type, 1);
  EXPECT_EQ(first->payload, "");
  EXPECT_EQ(second->type, 200);
  EXPECT_EQ(second->payload, bytes);
  EXPECT_FALSE(right.next(1ms).has_value());
}

TEST(Frames, LargerThanTheSocketsBuffer) {
  auto [a, b] = socket_pair();
  FrameSocket left(std::move(a)), right(std::move(b));
  const std::string large(std::size_t{5} << 20, 'x');
  left.send(7, large);
  EXPECT_GT(left.backlog(), 0u);
  std::thread sender([&] { EXPECT_TRUE(left.drain(10s)); });
  const auto frame = right.next(10s);
  sender.join();
  ASSERT_TRUE(frame.has_value());
  EXPECT_EQ(frame->payload, large);
  EXPECT_EQ(left.backlog(), 0u);
}

TEST(Frames, CarryDescriptorsWithTheFrameTheyBelongTo) {
  auto [a, b] = socket_pair();
  FrameSocket left(std::move(a)), right(std::move(b));
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const UniqueFd reader(ends[0]);
  left.send(1, "none");
  std::vector<UniqueFd> fds;
  fds.emplace_back(ends[1]);
  left.send(2, "one", std::move(fds));
  EXPECT_TRUE(right.next(1s)->fds.empty());
  auto frame = right.next(1s);
  ASSERT_EQ(frame->fds.size(), 1u);
  ASSERT_EQ(::write(frame->fds[0].get(), "hi", 2), 2);
  frame->fds.clear();
  char text[3] = {};
  EXPECT_EQ(::read(reader.get(), text, 2), 2);
  EXPECT_STREQ(text, "hi");
  EXPECT_EQ(::read(reader.get(), text, 1), 0);  // the sender kept no copy
}

TEST(Frames, AClosedPeerIsSeenAfterItsLastFrame) {
  auto [a, b] = socket_pair();
  FrameSocket left(std::move(a)), right(std::move(b));
  left.send(1, "last");
  left.close();
  EXPECT_EQ(right.next(1s)->payload, "last");
  EXPECT_FALSE(right.next(1s).has_value());
  right.send(1, "to nobody");  // no error, no signal
  EXPECT_EQ(right.backlog(), 0u);
}

TEST(Frames, BytesThatAreNoFrameAreRefused) {
  auto [a, b] = socket_pair();
  FrameSocket right(std::move(b));
  ASSERT_EQ(::write(a.get(), "\xff\xff\xff\xff\1\0\0\0", 8), 8);  // 4 GiB
  EXPECT_THROW(right.next(1s), InvariantError);
}

TEST(Channel, WritesOnWhenThereIsRoomAndTellsOfTheEnd) {
  EventLoop loop;
  auto [a, b] = socket_pair();
  FrameSocket peer(std::move(b));
  bool closed = false;
  std::size_t written = 0;
  std::string received;
  Channel channel(loop, std::move(a),
                  {[&](Frame&& frame) { received += frame.payload; }, [&] { closed = true; },
                   [&](std::size_t bytes) { written += bytes; }});
  const std::string large(std::size_t{4} << 20, 'x');
  channel.send(1, large);
  const auto late = channel.backlog();
  EXPECT_GT(late, 0u);
  std::thread reader([&] {
    EXPECT_EQ(peer.next(10s)->payload.size(), large.size());
    peer.send(1, "thanks");
    peer.drain(1s);
    peer.close();
  });
  while (!closed) loop.run_once();
  reader.join();
  EXPECT_EQ(written, late);
  EXPECT_EQ(received, "thanks");
  EXPECT_FALSE(channel.open());
}

TEST(EventLoop, RunsTimersInOrderAndNotThoseCancelled) {
  EventLoop loop;
  std::string order;
  const auto cancelled = loop.after(1ms, [&] { order += "x"; });
  loop.after(4ms, [&] { order += "b"; });
  loop.after(2ms, [&] { order += "a"; });
  loop.cancel(cancelled);
  while (order.size() < 2) loop.run_once();
  EXPECT_EQ(order, "ab");
}

TEST(EventLoop, AHandlerMayForgetAnotherOfTheSameRound) {
  EventLoop loop;
  int pipes[2][2];
  for (auto& ends : pipes) {
    ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    ASSERT_EQ(::write(ends[1], "x", 1), 1);
  }
  int calls = 0;
  for (const int i : {0, 1}) {
    loop.watch(pipes[i][0], 1 /* EPOLLIN */, [&, i](std::uint32_t) {
      ++calls;
      loop.forget(pipes[1 - i][0]);
      loop.forget(pipes[i][0]);
    });
  }
  loop.run_once();
  EXPECT_EQ(calls, 1);
  for (auto& ends : pipes) {
    ::close(ends[0]);
    ::close(ends[1]);
  }
}

}  // namespace
}  // namespace dtrain
