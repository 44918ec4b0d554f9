// SPDX-License-Identifier: Apache-2.0
#include "core/base/nearest_name.h"

#include <gtest/gtest.h>

namespace dtrain {
namespace {

TEST(NearestName, CountsEdits) {
  EXPECT_EQ(name_distance("steps", "steps"), 0u);
  EXPECT_EQ(name_distance("step", "steps"), 1u);
  EXPECT_EQ(name_distance("setps", "steps"), 1u);  // a swap
  EXPECT_EQ(name_distance("kitten", "sitting"), 3u);
  EXPECT_EQ(name_distance("", "abc"), 3u);
  EXPECT_EQ(name_distance("Micro-Batch", "micro_batch"), 0u);
}

TEST(NearestName, TakesTheNearestThatIsNear) {
  const std::vector<std::string> names = {"lr", "weight_decay", "beta1", "beta2"};
  EXPECT_EQ(nearest_name("wieght_decay", names), "weight_decay");
  EXPECT_EQ(nearest_name("beta3", names), "beta1");  // the first of equals
  EXPECT_EQ(nearest_name("rl", names), "lr");
  EXPECT_EQ(nearest_name("momentum", names), "");
  EXPECT_EQ(nearest_name("ab", names), "");  // every letter differs
  EXPECT_EQ(nearest_name("x", {}), "");
}

}  // namespace
}  // namespace dtrain
