// SPDX-License-Identifier: Apache-2.0
#include <dtrain/combine.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <thread>

#include "tests/contract/comm/comm_contract.h"

namespace dtrain::test {
namespace {

using Kind = RecoverableError::Kind;

constexpr DType kTypes[] = {DType::f32, DType::f64, DType::f16, DType::bf16,
                            DType::i64, DType::i32, DType::u16, DType::u8};
constexpr ReduceOp kOps[] = {ReduceOp::sum, ReduceOp::max, ReduceOp::min};

// Small whole numbers: exact in every type, sums too.
int value_of(int rank, std::size_t i) {
  return static_cast<int>((i * 7 + static_cast<std::size_t>(rank) * 5) % 19);
}

template <class T>
std::vector<T> values(int rank, std::size_t count) {
  std::vector<T> out(count);
  for (std::size_t i = 0; i < count; ++i) out[i] = static_cast<T>(value_of(rank, i));
  return out;
}

// Element `i` of `data` as a number.
double number(const std::vector<std::byte>& data, DType type, std::size_t i) {
  auto at = [&]<class T>(T) {
    T value;
    std::copy_n(data.data() + i * sizeof(T), sizeof(T), reinterpret_cast<std::byte*>(&value));
    return value;
  };
  switch (type) {
    case DType::f32:
      return static_cast<double>(at(float{}));
    case DType::f64:
      return at(double{});
    case DType::f16:
      return static_cast<double>(half_to_float(at(std::uint16_t{})));
    case DType::bf16:
      return static_cast<double>(bf16_to_float(at(std::uint16_t{})));
    case DType::i64:
      return static_cast<double>(at(std::int64_t{}));
    case DType::i32:
      return at(std::int32_t{});
    case DType::u16:
      return at(std::uint16_t{});
    case DType::u8:
      return at(std::uint8_t{});
  }
  return 0;
}

std::vector<std::byte> encoded(int rank, DType type, std::size_t count) {
  std::vector<std::byte> out;
  auto put = [&](auto element) {
    const auto* begin = reinterpret_cast<const std::byte*>(&element);
    out.insert(out.end(), begin, begin + sizeof(element));
  };
  for (std::size_t i = 0; i < count; ++i) {
    const int v = value_of(rank, i);
    switch (type) {
      case DType::f32:
        put(static_cast<float>(v));
        break;
      case DType::f64:
        put(static_cast<double>(v));
        break;
      case DType::f16:
        put(float_to_half(static_cast<float>(v)));
        break;
      case DType::bf16:
        put(float_to_bf16(static_cast<float>(v)));
        break;
      case DType::i64:
        put(static_cast<std::int64_t>(v));
        break;
      case DType::i32:
        put(static_cast<std::int32_t>(v));
        break;
      case DType::u16:
        put(static_cast<std::uint16_t>(v));
        break;
      case DType::u8:
        put(static_cast<std::uint8_t>(v));
        break;
    }
  }
  return out;
}

TEST_P(CommContract, AllReduceOfEveryTypeAndOperation) {
  run(3, [](Seat& seat) {
    const auto group = seat.group();
    if (!group->capabilities().contains("all_reduce")) return;
    for (const auto type : kTypes) {
      for (const auto op : kOps) {
        for (const std::size_t count : {1u, 2u, 1000u}) {
          auto data = encoded(seat.rank, type, count);
          group->all_reduce(data.data(), count, type, op)->wait();
          for (std::size_t i = 0; i < count; ++i) {
            const int a = value_of(0, i), b = value_of(1, i), c = value_of(2, i);
            const int expected = op == ReduceOp::sum   ? a + b + c
                                 : op == ReduceOp::max ? std::max({a, b, c})
                                                       : std::min({a, b, c});
            ASSERT_EQ(number(data, type, i), expected)
                << name_of(type) << " op " << static_cast<int>(op) << " element " << i;
          }
        }
      }
    }
  });
}

TEST_P(CommContract, AllReduceOfManyElements) {
  run(2, [](Seat& seat) {
    const auto group = seat.group();
    if (!group->capabilities().contains("all_reduce")) return;
    auto data = values<float>(seat.rank, 3'000'001);  // several segments of Gloo's ring
    group->all_reduce(data.data(), data.size(), DType::f32, ReduceOp::sum)->wait();
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < data.size(); ++i)
      wrong += data[i] != static_cast<float>(value_of(0, i) + value_of(1, i));
    EXPECT_EQ(wrong, 0u);
  });
}

TEST_P(CommContract, MaximumAndMinimumKeepNaN) {
  run(2, [](Seat& seat) {
    const auto group = seat.group();
    if (!group->capabilities().contains("all_reduce")) return;
    for (const auto op : {ReduceOp::max, ReduceOp::min}) {
      for (const int bad : {0, 1}) {
        float value = seat.rank == bad ? std::numeric_limits<float>::quiet_NaN() : 1.0f;
        group->all_reduce(&value, 1, DType::f32, op)->wait();
        EXPECT_TRUE(std::isnan(value));
      }
    }
  });
}

TEST_P(CommContract, BroadcastFromEveryRank) {
  run(3, [](Seat& seat) {
    const auto group = seat.group();
    if (!group->capabilities().contains("broadcast")) return;
    for (int root = 0; root < 3; ++root) {
      auto data = values<double>(seat.rank, 10'000);
      group->broadcast(room_of(data), root)->wait();
      EXPECT_EQ(data, values<double>(root, 10'000));
    }
  });
}

TEST_P(CommContract, AbortEndsACollective) {
  run(2, [](Seat& seat) {
    const auto group = seat.group();
    if (!group->capabilities().contains("all_reduce") || seat.rank == 1) return seat.await("aborted");
    std::vector<float> data(1 << 20, 1.0f);
    std::jthread thread([&] {
      const auto error = thrown_by<RecoverableError>(
          [&] { group->all_reduce(data.data(), data.size(), DType::f32, ReduceOp::sum)->wait(); });
      EXPECT_EQ(error.kind(), Kind::aborted);
    });
    group->abort();
    std::fill(data.begin(), data.end(), 2.0f);  // ours again
    const auto copy = data;
    thread.join();
    seat.signal("aborted");
    EXPECT_EQ(data, copy);
  });
}

TEST_P(CommContract, CollectivesOfDifferentSizesEnd) {
  run(2, [](Seat& seat) {
    const auto group = seat.group(500ms);
    if (!group->capabilities().contains("all_reduce")) return;
    std::vector<float> data(seat.rank == 0 ? 1000 : 2000, 1.0f);
    try {
      group->all_reduce(data.data(), data.size(), DType::f32, ReduceOp::sum)->wait();
      ADD_FAILURE() << "1000 and 2000 elements were reduced, and nobody said so";
    } catch (const InvariantError& e) {
      EXPECT_TRUE(GetParam().reports_size_mismatch);
      EXPECT_THAT(e.what(), testing::AllOf(testing::HasSubstr("1000 elements"), testing::HasSubstr("2000 elements"),
                                           testing::HasSubstr("rank 0"), testing::HasSubstr("rank 1")));
    } catch (const RecoverableError& e) {
      EXPECT_FALSE(GetParam().reports_size_mismatch);
      EXPECT_THAT(e.what(), testing::HasSubstr("all-reduce of " + std::to_string(data.size()) + " elements F32"));
    }
  });
}

}  // namespace
}  // namespace dtrain::test
