// SPDX-License-Identifier: Apache-2.0
#include "core/plugin/option_check.h"

#include <gtest/gtest.h>

#include <limits>

namespace dtrain {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

OptionSpec spec(double min, double max, bool exclusive = false) {
  OptionSpec option;
  option.min = min;
  option.max = max;
  option.exclusive_min = exclusive;
  return option;
}

TEST(OptionText, ReadsAsInARecipe) {
  EXPECT_EQ(to_text(true), "true");
  EXPECT_EQ(to_text(std::int64_t{-4}), "-4");
  EXPECT_EQ(to_text(0.1), "0.1");
  EXPECT_EQ(to_text(2.0), "2.0");
  EXPECT_EQ(to_text(1e-30), "1e-30");
  EXPECT_EQ(to_text(std::string("a \"b\" \\")), "\"a \\\"b\\\" \\\\\"");
  EXPECT_EQ(to_text(std::vector<std::int64_t>{1, 2}), "[1, 2]");
  EXPECT_EQ(to_text(std::vector<double>{}), "[]");
  EXPECT_EQ(to_text(std::vector<std::string>{"a", "b"}), "[\"a\", \"b\"]");
}

TEST(OptionAllowed, SaysTheLimits) {
  EXPECT_EQ(allowed_text(spec(-kInfinity, kInfinity)), "");
  EXPECT_EQ(allowed_text(spec(1, 512)), "1 to 512");
  EXPECT_EQ(allowed_text(spec(0, kInfinity)), "at least 0");
  EXPECT_EQ(allowed_text(spec(0, kInfinity, true)), "above 0");
  EXPECT_EQ(allowed_text(spec(0, 1, true)), "above 0, at most 1");
  EXPECT_EQ(allowed_text(spec(-kInfinity, 0.5)), "at most 0.5");
  auto option = spec(-kInfinity, kInfinity);
  option.choices = {"fast", "exact"};
  EXPECT_EQ(allowed_text(option), "fast, exact");
}

TEST(OptionValueProblem, AtAndBeyondTheLimits) {
  const auto closed = spec(1, 512);
  EXPECT_FALSE(value_problem(closed, std::int64_t{1}));
  EXPECT_FALSE(value_problem(closed, std::int64_t{512}));
  EXPECT_EQ(value_problem(closed, std::int64_t{0}), "found 0, allowed 1 to 512");
  EXPECT_EQ(value_problem(closed, 512.5), "found 512.5, allowed 1 to 512");
  const auto open = spec(0, kInfinity, true);
  EXPECT_EQ(value_problem(open, 0.0), "found 0.0, allowed above 0");
  EXPECT_FALSE(value_problem(open, 1e-300));
  EXPECT_TRUE(value_problem(spec(-kInfinity, kInfinity), std::numeric_limits<double>::quiet_NaN()));
}

TEST(OptionValueProblem, EachElementOfAList) {
  EXPECT_FALSE(value_problem(spec(1, 9), std::vector<std::int64_t>{1, 9}));
  EXPECT_EQ(value_problem(spec(1, 9), std::vector<std::int64_t>{1, 10}), "found 10, allowed 1 to 9");
  auto option = spec(-kInfinity, kInfinity);
  option.choices = {"a", "b"};
  EXPECT_EQ(value_problem(option, std::vector<std::string>{"a", "c"}), "found \"c\", allowed a, b");
  EXPECT_FALSE(value_problem(option, std::string("b")));
}

}  // namespace
}  // namespace dtrain
