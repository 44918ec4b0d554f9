// SPDX-License-Identifier: Apache-2.0
#include "core/data/permutation.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace dtrain {
namespace {

TEST(Permutation, IsABijectionForEverySmallSizeAndSomeLargeOnes) {
  std::vector<std::uint64_t> sizes;
  for (std::uint64_t n = 1; n <= 300; ++n) sizes.push_back(n);
  for (std::uint64_t n : {511, 512, 513, 1000, 4095, 4097, 65535, 65536, 65537, 100003}) sizes.push_back(n);
  for (auto n : sizes) {
    for (std::uint64_t key : {0ull, 1ull, 0xFFFFFFFFFFFFFFFFull}) {
      const Permutation p(n, key);
      std::vector<bool> seen(n);
      for (std::uint64_t i = 0; i < n; ++i) {
        const auto v = p.at(i);
        ASSERT_LT(v, n);
        ASSERT_FALSE(seen[v]) << "n=" << n << " key=" << key << ": " << v << " twice";
        seen[v] = true;
      }
    }
  }
}

TEST(Permutation, HugeSizesStayInRangeAndCheap) {
  const std::uint64_t n = (std::uint64_t{1} << 40) + 1;  // just above a power of two: the most walking
  const Permutation p(n, 7);
  for (std::uint64_t i = 0; i < 20'000; ++i) ASSERT_LT(p.at(n - 1 - i), n);
}

// All orders of 3 and of 4 elements appear, each about equally often over many keys.
TEST(Permutation, SmallSizesReachEveryOrder) {
  for (std::uint64_t n : {2, 3, 4}) {
    std::vector<int> counts(256);
    const int keys = 24'000;
    for (int key = 0; key < keys; ++key) {
      const Permutation p(n, static_cast<std::uint64_t>(key));
      std::size_t code = 0;
      for (std::uint64_t i = 0; i < n; ++i) code = code * 4 + p.at(i);
      ++counts[code];
    }
    int orders = 0;
    int factorial = 1;
    for (std::uint64_t i = 2; i <= n; ++i) factorial *= static_cast<int>(i);
    double chi2 = 0;
    for (int count : counts) {
      if (count == 0) continue;
      ++orders;
      const double expected = static_cast<double>(keys) / factorial;
      chi2 += (count - expected) * (count - expected) / expected;
    }
    EXPECT_EQ(orders, factorial);
    EXPECT_LT(chi2, factorial - 1 + 5 * std::sqrt(2.0 * (factorial - 1)));  // mean k - 1, variance 2 (k - 1)
  }
}

// Where element 0..n-1 lands is uniform over keys, and neighbours do not stay neighbours.
TEST(Permutation, LooksRandom) {
  const std::uint64_t n = 1000;
  const int keys = 2000;
  std::vector<int> bins(10);
  std::int64_t adjacent = 0;
  double correlation = 0;
  for (int key = 0; key < keys; ++key) {
    const Permutation p(n, static_cast<std::uint64_t>(key));
    for (std::uint64_t i = 0; i < 50; ++i) {
      ++bins[p.at(i) / 100];
      const auto a = static_cast<double>(p.at(i));
      const auto b = static_cast<double>(p.at(i + 1));
      if (std::abs(a - b) == 1) ++adjacent;
      correlation += (a - 499.5) * (b - 499.5);
    }
  }
  const double draws = keys * 50.0;
  double chi2 = 0;
  for (int count : bins) chi2 += (count - draws / 10) * (count - draws / 10) / (draws / 10);
  EXPECT_LT(chi2, 9 + 5 * std::sqrt(18.0));
  EXPECT_NEAR(static_cast<double>(adjacent) / draws, 2.0 / n, 5 * std::sqrt(2.0 / n / draws));
  EXPECT_NEAR(correlation / draws / (n * n / 12.0), 0, 5 / std::sqrt(draws));
}

TEST(Permutation, DependsOnItsKeyOnly) {
  const Permutation a(5000, 1);
  const Permutation again(5000, 1);
  const Permutation b(5000, 2);
  int equal = 0;
  for (std::uint64_t i = 0; i < 5000; ++i) {
    EXPECT_EQ(a.at(i), again.at(i));
    equal += a.at(i) == b.at(i) ? 1 : 0;
  }
  EXPECT_LT(equal, 12);  // one expected
}

// The order is part of what a recipe means: these numbers, from a separate program, must never change.
TEST(Permutation, KnownAnswers) {
  auto first = [](std::uint64_t n, std::uint64_t key) {
    const Permutation p(n, key);
    std::vector<std::uint64_t> out;
    for (std::uint64_t i = 0; i < 5; ++i) out.push_back(p.at(i));
    return out;
  };
  EXPECT_EQ(first(10, 1), (std::vector<std::uint64_t>{5, 4, 7, 1, 2}));
  EXPECT_EQ(first(1'000'000, 42), (std::vector<std::uint64_t>{714199, 211564, 1355, 810356, 4691}));
}

}  // namespace
}  // namespace dtrain
