// SPDX-License-Identifier: Apache-2.0
//
// What every learning-rate schedule must do, and the values of those that come with dtrain.
#include <dtrain/schedule.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/contract/plugin_component.h"

namespace dtrain {
namespace {

struct Implementation {
  std::string label;
  std::string name;
  OptionValues options;
};

std::string file_of(const std::string& name) {
  return DTRAIN_PLUGINS "/schedule_" + name + ".so";
}

class ScheduleContract : public testing::TestWithParam<Implementation> {
 protected:
  auto make(std::int64_t warmup, std::int64_t total) const {
    return component_.make({.total_updates = total, .warmup = warmup}, GetParam().options);
  }
  test::PluginComponent<ScheduleKind> component_{file_of(GetParam().name), GetParam().name};
};

TEST_P(ScheduleContract, FactorsAreFiniteAndNotNegative) {
  for (const auto& [warmup, total] :
       {std::pair<std::int64_t, std::int64_t>{0, 1}, {0, 100}, {10, 100}, {99, 100}, {7, 8}}) {
    const auto schedule = make(warmup, total);
    for (std::int64_t u = warmup; u < total; ++u) {
      EXPECT_TRUE(std::isfinite(schedule->factor(u))) << u;
      EXPECT_GE(schedule->factor(u), 0.0) << u;
    }
  }
}

// The host asks for update `warmup` even where the warm-up is as long as the run.
TEST_P(ScheduleContract, AWarmupAsLongAsTheRunIsFine) {
  const double factor = make(10, 10)->factor(10);
  EXPECT_TRUE(std::isfinite(factor));
  EXPECT_GE(factor, 0.0);
}

TEST_P(ScheduleContract, IsAPureFunctionOfTheUpdate) {
  const auto forward = make(5, 50);
  const auto backward = make(5, 50);
  std::vector<double> values;
  for (std::int64_t u = 5; u < 50; ++u) values.push_back(forward->factor(u));
  for (std::int64_t u = 49; u >= 5; --u) {
    EXPECT_EQ(backward->factor(u), values[static_cast<std::size_t>(u - 5)]);
    EXPECT_EQ(forward->factor(u), values[static_cast<std::size_t>(u - 5)]);
  }
}

INSTANTIATE_TEST_SUITE_P(Plugins, ScheduleContract,
                         testing::Values(Implementation{"constant", "constant", {}},
                                         Implementation{"linear", "linear", {}},
                                         Implementation{"linear_min", "linear", {{"min_ratio", 0.1}}},
                                         Implementation{"cosine", "cosine", {}},
                                         Implementation{"cosine_min", "cosine", {{"min_ratio", 0.1}}}),
                         [](const auto& param) { return param.param.label; });

double factor(const std::string& name, const OptionValues& options, std::int64_t update) {
  const test::PluginComponent<ScheduleKind> component(file_of(name), name);
  return component.make({.total_updates = 70, .warmup = 10}, options)->factor(update);
}

TEST(Schedules, Constant) {
  EXPECT_EQ(factor("constant", {}, 10), 1.0);
  EXPECT_EQ(factor("constant", {}, 69), 1.0);
}

TEST(Schedules, LinearRunsFromOneToMinRatioBetweenWarmupAndEnd) {
  EXPECT_DOUBLE_EQ(factor("linear", {}, 10), 1.0);
  EXPECT_DOUBLE_EQ(factor("linear", {}, 25), 0.75);
  EXPECT_DOUBLE_EQ(factor("linear", {}, 40), 0.5);
  EXPECT_DOUBLE_EQ(factor("linear", {}, 69), 1.0 / 60);
  EXPECT_DOUBLE_EQ(factor("linear", {{"min_ratio", 0.2}}, 40), 0.6);
}

// cos(pi / 3) = 1/2 and cos(2 pi / 3) = -1/2.
TEST(Schedules, CosineIsHalfAPeriodBetweenWarmupAndEnd) {
  EXPECT_DOUBLE_EQ(factor("cosine", {}, 10), 1.0);
  EXPECT_DOUBLE_EQ(factor("cosine", {}, 30), 0.75);
  EXPECT_DOUBLE_EQ(factor("cosine", {}, 40), 0.5);
  EXPECT_DOUBLE_EQ(factor("cosine", {}, 50), 0.25);
  EXPECT_DOUBLE_EQ(factor("cosine", {{"min_ratio", 0.2}}, 30), 0.8);
  EXPECT_DOUBLE_EQ(factor("cosine", {{"min_ratio", 0.2}}, 50), 0.4);
}

}  // namespace
}  // namespace dtrain
