// SPDX-License-Identifier: Apache-2.0
//
// What only the in-memory transport promises; the rest is in the contract suite.
#include "core/comm/memory_transport.h"

#include <dtrain/error.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dtrain {
namespace {

using Numbers = std::vector<std::uint32_t>;
using testing::HasSubstr;

CommContext context(int rank, int size, std::uint64_t generation = 1, std::string group = "world") {
  return {.rank = rank,
          .size = size,
          .generation = generation,
          .group = std::move(group),
          .timeout = std::chrono::seconds(10)};
}

std::span<const std::byte> bytes_of(const Numbers& values) {
  return std::as_bytes(std::span(values));
}
std::span<std::byte> room_of(Numbers& values) {
  return std::as_writable_bytes(std::span(values));
}

TEST(MemoryTransport, OneThreadCanPlayAllRanks) {
  MemoryHub hub;
  const auto zero = hub.join(context(0, 2)), one = hub.join(context(1, 2));
  const Numbers data{1, 2, 3};
  Numbers heard(3);
  const auto send = zero->send(bytes_of(data), 1, 5);
  EXPECT_FALSE(send->done());
  const auto other = one->receive(room_of(heard), 0, 6);  // another tag
  EXPECT_FALSE(send->done());
  const auto receive = one->receive(room_of(heard), 0, 5);
  EXPECT_TRUE(send->done());
  EXPECT_TRUE(receive->done());
  EXPECT_FALSE(other->done());
  receive->wait();
  EXPECT_EQ(heard, data);
}

TEST(MemoryTransport, SendsToARankThatComesLater) {
  MemoryHub hub;
  const auto zero = hub.join(context(0, 2));
  const Numbers data{4};
  const auto send = zero->send(bytes_of(data), 1, 1);
  const auto one = hub.join(context(1, 2));
  Numbers heard(1);
  one->receive(room_of(heard), 0, 1)->wait();
  EXPECT_EQ(heard, data);
}

TEST(MemoryTransport, GroupsAndGenerationsAreApart) {
  MemoryHub hub;
  const auto zero = hub.join(context(0, 2, 1, "dp-0")), other = hub.join(context(1, 2, 1, "dp-1")),
             later = hub.join(context(1, 2, 2, "dp-0"));
  const Numbers data{4};
  Numbers heard(1);
  const auto send = zero->send(bytes_of(data), 1, 1);
  const auto a = other->receive(room_of(heard), 0, 1), b = later->receive(room_of(heard), 0, 1);
  EXPECT_FALSE(send->done() || a->done() || b->done());
}

TEST(MemoryTransport, AGroupOfOne) {
  MemoryHub hub;
  const auto group = hub.join(context(0, 1));
  double value = 2.5;
  group->all_reduce(&value, 1, DType::f64, ReduceOp::sum)->wait();
  EXPECT_EQ(value, 2.5);
  group->broadcast({}, 0)->wait();
}

TEST(MemoryTransport, HasTheCapabilitiesItIsGiven) {
  MemoryHub hub({});
  EXPECT_TRUE(hub.join(context(0, 1))->capabilities().empty());
}

TEST(MemoryTransport, RefusesASecondSelfAndAnotherSize) {
  MemoryHub hub;
  const auto zero = hub.join(context(0, 2));
  try {
    hub.join(context(0, 2));
    ADD_FAILURE();
  } catch (const InvariantError& e) {
    EXPECT_THAT(e.what(), HasSubstr("rank 0 joins group world of generation 1 a second time"));
  }
  try {
    hub.join(context(1, 3));
    ADD_FAILURE();
  } catch (const InvariantError& e) {
    EXPECT_THAT(e.what(), HasSubstr("rank 1 joins group world with size 3, another rank with 2"));
  }
  EXPECT_THROW(hub.join(context(2, 2)), InvariantError);
}

TEST(MemoryTransport, CollectivesOfDifferentKindsNameBoth) {
  MemoryHub hub;
  const auto zero = hub.join(context(0, 2)), one = hub.join(context(1, 2));
  std::vector<float> a(4), b(4);
  const auto first = zero->all_reduce(a.data(), 4, DType::f32, ReduceOp::sum);
  const auto second = one->all_reduce(b.data(), 4, DType::f32, ReduceOp::max);
  for (const auto& work : {first.get(), second.get()}) {
    try {
      work->wait();
      ADD_FAILURE();
    } catch (const InvariantError& e) {
      EXPECT_THAT(
          e.what(),
          HasSubstr("rank 1's all-reduce (max) of 4 elements F32 meets rank 0's all-reduce (sum) of 4 elements F32"));
    }
  }
}

}  // namespace
}  // namespace dtrain
