// SPDX-License-Identifier: Apache-2.0
//
// That the tasks of the data set `synthetic` can be learnt, and depend on the seed alone.
#include <cmath>
#include <map>

#include "tests/contract/data/data_under_test.h"

namespace dtrain {
namespace {

using test::message_of;
using test::read_sample;
using test::values;

auto open(const std::string& task, OptionValues options = {}, DataContext context = {.seed = 1, .seq_len = 32}) {
  static const auto plugin = test::data_plugin("synthetic");
  options["task"] = task;
  return plugin.make(context, options);
}

// The nearest class mean (of other samples) tells the class.
TEST(SyntheticData, ClassesAreSeparable) {
  const auto set = open("classification", {{"samples", std::int64_t{800}}, {"noise", 0.3}});
  ASSERT_EQ(set->info().num_classes, 4);
  std::vector<std::vector<double>> means(4, std::vector<double>(16));
  for (std::int64_t i = 0; i < 400; ++i) {
    const auto sample = read_sample(*set, i);
    const auto x = values<float>(sample[0]);
    const auto label = static_cast<std::size_t>(values<std::int32_t>(sample[1])[0]);
    for (std::size_t f = 0; f < 16; ++f) means[label][f] += x[f] / 100.0;
  }
  int right = 0;
  for (std::int64_t i = 400; i < 800; ++i) {
    const auto sample = read_sample(*set, i);
    const auto x = values<float>(sample[0]);
    std::size_t best = 0;
    double least = INFINITY;
    for (std::size_t c = 0; c < 4; ++c) {
      double distance = 0;
      for (std::size_t f = 0; f < 16; ++f) distance += (x[f] - means[c][f]) * (x[f] - means[c][f]);
      if (distance < least) {
        least = distance;
        best = c;
      }
    }
    right += static_cast<std::int32_t>(best) == values<std::int32_t>(sample[1])[0] ? 1 : 0;
  }
  EXPECT_GT(right, 380);
}

// Without noise the target is linear in the input: superposing two samples superposes their targets.
TEST(SyntheticData, RegressionIsLinear) {
  const auto set = open("regression", {{"features", std::int64_t{1}}, {"outputs", std::int64_t{3}}, {"noise", 0.0}});
  const auto a = read_sample(*set, 0);
  const auto b = read_sample(*set, 1);
  const float xa = values<float>(a[0])[0];
  const float xb = values<float>(b[0])[0];
  ASSERT_NE(xa, xb);
  for (std::size_t k = 0; k < 3; ++k) {
    EXPECT_NEAR(values<float>(a[1])[k] / xa, values<float>(b[1])[k] / xb, 1e-5);
  }
}

TEST(SyntheticData, TokensFollowARuleExceptForTheNoise) {
  const auto set = open("tokens", {{"noise", 0.25}, {"vocab_size", std::int64_t{16}}});
  std::map<std::int32_t, std::map<std::int32_t, int>> follows;
  int total = 0;
  for (std::int64_t i = 0; i < set->size(); ++i) {
    const auto sample = read_sample(*set, i);
    const auto input = values<std::int32_t>(sample[0]);
    const auto target = values<std::int32_t>(sample[1]);
    for (std::size_t t = 0; t < input.size(); ++t) {
      if (t + 1 < input.size()) {
        EXPECT_EQ(target[t], input[t + 1]);
      }
      ++follows[input[t]][target[t]];
      ++total;
    }
  }
  int usual = 0;
  for (const auto& [token, next] : follows) {
    int most = 0;
    for (const auto& [t, count] : next) most = std::max(most, count);
    usual += most;
  }
  // Of the random quarter one in sixteen happens to be the usual one.
  EXPECT_NEAR(static_cast<double>(usual) / total, 0.75 + 0.25 / 16, 0.01);
}

TEST(SyntheticData, SeedDecides) {
  for (const std::string task : {"classification", "regression", "tokens"}) {
    const auto one = open(task);
    const auto two = open(task, {}, {.seed = 2, .seq_len = 32});
    EXPECT_EQ(read_sample(*one, 3, 1), read_sample(*one, 3, 2)) << "does not augment";
    EXPECT_NE(read_sample(*one, 3), read_sample(*two, 3));
  }
}

// A set named in data.eval has the training set's rule but not its samples.
TEST(SyntheticData, SeparateEvaluationHasSamplesOfItsOwn) {
  const auto train = open("classification", {{"noise", 0.01}});
  const auto eval = open("classification", {{"noise", 0.01}}, {.split = Split::eval, .seed = 1});
  const auto a = values<float>(read_sample(*train, 0)[0]);
  const auto b = values<float>(read_sample(*eval, 0)[0]);
  EXPECT_NE(a, b);
  for (std::size_t f = 0; f < a.size(); ++f) EXPECT_NEAR(a[f], b[f], 0.1);
}

TEST(SyntheticData, Errors) {
  EXPECT_EQ(message_of([] { open("tokens", {}, {.seed = 1}); }),
            "data synthetic: task = \"tokens\" needs data.seq_len");
}

}  // namespace
}  // namespace dtrain
