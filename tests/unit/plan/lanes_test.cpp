// SPDX-License-Identifier: Apache-2.0
#include "core/plan/lanes.h"

#include <gtest/gtest.h>

namespace dtrain {
namespace {

std::vector<std::int64_t> counts(std::int64_t total, std::int64_t parts) {
  std::vector<std::int64_t> out;
  std::int64_t begin = 0;
  for (std::int64_t i = 0; i < parts; ++i) {
    const auto run = part_of(total, parts, i);
    EXPECT_EQ(run.begin, begin);
    begin += run.count;
    out.push_back(run.count);
  }
  EXPECT_EQ(begin, total);
  return out;
}

TEST(Lanes, TheFirstPartsAreLonger) {
  EXPECT_EQ(counts(16, 3), (std::vector<std::int64_t>{6, 5, 5}));
  EXPECT_EQ(counts(16, 7), (std::vector<std::int64_t>{3, 3, 2, 2, 2, 2, 2}));
  EXPECT_EQ(counts(16, 16), std::vector<std::int64_t>(16, 1));
  EXPECT_EQ(counts(2, 3), (std::vector<std::int64_t>{1, 1, 0}));
}

TEST(Lanes, GradientBuffers) {
  EXPECT_EQ(gradient_buffers(0), 0);
  EXPECT_EQ(gradient_buffers(1), 1);
  EXPECT_EQ(gradient_buffers(2), 2);
  EXPECT_EQ(gradient_buffers(3), 3);
  EXPECT_EQ(gradient_buffers(4), 3);
  EXPECT_EQ(gradient_buffers(5), 4);
  EXPECT_EQ(gradient_buffers(16), 5);
}

TEST(Lanes, DefaultIsAtMostSixteen) {
  EXPECT_EQ(default_lanes(3), 3);
  EXPECT_EQ(default_lanes(16), 16);
  EXPECT_EQ(default_lanes(1000), 16);
}

}  // namespace
}  // namespace dtrain
