// SPDX-License-Identifier: Apache-2.0
//
// What every optimizer must do. Add an implementation by adding a line to implementations().
#include <dtrain/optimizer.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <random>
#include <set>
#include <thread>

#include "tests/contract/plugin_component.h"

namespace dtrain {
namespace {

struct Implementation {
  std::string label;
  std::string file;
  std::string name;
  OptionValues options;
};

std::vector<Implementation> implementations() {
  const std::string folder = DTRAIN_PLUGINS "/";
  return {
      {"sgd", folder + "optimizer_sgd.so", "sgd", {}},
      {"sgd_momentum", folder + "optimizer_sgd.so", "sgd", {{"momentum", 0.9}, {"dampening", 0.25}}},
      {"sgd_nesterov", folder + "optimizer_sgd.so", "sgd", {{"momentum", 0.9}, {"nesterov", true}}},
      {"adamw", folder + "optimizer_adamw.so", "adamw", {}},
      {"adamw_gpt", folder + "optimizer_adamw.so", "adamw", {{"beta2", 0.95}, {"epsilon", 1e-6}}},
  };
}

// A tensor with its optimizer state, and room around it that nobody may touch.
struct State {
  static constexpr std::size_t kGuard = 16;
  static constexpr float kCanary = 12345.0F;

  State(std::size_t n, std::size_t slots, unsigned seed = 7) : count(n), grad(n) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    arrays.assign(slots + 1, std::vector<float>(n + 2 * kGuard, kCanary));
    for (auto& array : arrays) std::fill_n(array.data() + kGuard, n, 0.0F);
    for (std::size_t i = 0; i < n; ++i) arrays[0][kGuard + i] = normal(random);
    for (auto& g : grad) g = normal(random);
  }

  std::span<float> param() { return std::span(arrays[0]).subspan(kGuard, count); }

  void update(const Optimizer& optimizer, const UpdateScalars& scalars, std::size_t begin, std::size_t end) {
    const std::array<std::int64_t, 1> shape = {static_cast<std::int64_t>(count)};
    std::vector<float*> slots;
    for (std::size_t s = 1; s < arrays.size(); ++s) slots.push_back(arrays[s].data() + kGuard + begin);
    optimizer.update(scalars, {.name = "weight",
                               .shape = shape,
                               .offset = static_cast<std::int64_t>(begin),
                               .param = param().subspan(begin, end - begin),
                               .grad = std::span<const float>(grad).subspan(begin, end - begin),
                               .slots = slots});
  }

  // Parameters, slots and guards as bits: NaN equals itself and 0 differs from -0.
  std::vector<std::uint32_t> bits() const {
    std::vector<std::uint32_t> out;
    for (const auto& array : arrays) {
      for (float value : array) out.push_back(std::bit_cast<std::uint32_t>(value));
    }
    return out;
  }

  std::size_t count;
  std::vector<float> grad;
  std::vector<std::vector<float>> arrays;  // parameter, then slots
};

class OptimizerContract : public testing::TestWithParam<Implementation> {
 protected:
  auto make() const { return component_.make(OptimizerContext{}, GetParam().options); }

  test::PluginComponent<OptimizerKind> component_{GetParam().file, GetParam().name};
};

constexpr UpdateScalars scalars(std::int64_t update) {
  return {.lr = 0.01, .weight_decay = 0.1, .grad_scale = 0.375F, .update = update};
}

TEST_P(OptimizerContract, SlotNamesAreConstantUniqueAndNotEmpty) {
  const auto one = make();
  const auto two = make();
  const std::vector<std::string> names(one->slots().begin(), one->slots().end());
  EXPECT_THAT(two->slots(), testing::ElementsAreArray(names));
  EXPECT_EQ(std::set(names.begin(), names.end()).size(), names.size());
  EXPECT_THAT(names, testing::Not(testing::Contains("")));
}

TEST_P(OptimizerContract, AnyCutOfTheRangeGivesTheSameBits) {
  const auto optimizer = make();
  if (optimizer->granularity() != Granularity::element) GTEST_SKIP() << "whole-tensor optimizer";
  std::mt19937 random(3);
  for (std::size_t n : {1UL, 3UL, 8UL, 31UL, 64UL, 1003UL}) {
    State whole(n, optimizer->slots().size());
    State pieces = whole;
    for (std::int64_t u = 1; u <= 5; ++u) {
      whole.update(*optimizer, scalars(u), 0, n);
      for (std::size_t begin = 0; begin < n;) {
        const auto end = std::min(n, begin + 1 + random() % 37);
        pieces.update(*optimizer, scalars(u), begin, end);
        begin = end;
      }
      ASSERT_EQ(whole.bits(), pieces.bits()) << "n=" << n << " update=" << u;
    }
  }
}

TEST_P(OptimizerContract, RangesMayRunAtTheSameTime) {
  const auto optimizer = make();
  const std::size_t n = 10'000;
  State alone(n, optimizer->slots().size());
  State together = alone;
  State other(n, optimizer->slots().size(), 8);
  alone.update(*optimizer, scalars(1), 0, n);
  if (optimizer->granularity() == Granularity::element) {
    std::thread helper([&] { together.update(*optimizer, scalars(1), 0, n / 3); });
    together.update(*optimizer, scalars(1), n / 3, n);
    helper.join();
  } else {
    std::thread helper([&] { other.update(*optimizer, scalars(1), 0, n); });
    together.update(*optimizer, scalars(1), 0, n);
    helper.join();
  }
  EXPECT_EQ(alone.bits(), together.bits());
}

TEST_P(OptimizerContract, WritesNothingOutsideTheRange) {
  const auto optimizer = make();
  State state(100, optimizer->slots().size());
  const State before = state;
  const std::size_t begin = optimizer->granularity() == Granularity::element ? 10 : 0;
  const std::size_t end = optimizer->granularity() == Granularity::element ? 77 : 100;
  state.update(*optimizer, scalars(1), begin, end);
  EXPECT_EQ(state.grad, before.grad);
  EXPECT_NE(state.bits(), before.bits());
  for (std::size_t a = 0; a < state.arrays.size(); ++a) {
    for (std::size_t i = 0; i < state.arrays[a].size(); ++i) {
      if (i >= State::kGuard + begin && i < State::kGuard + end) continue;
      EXPECT_EQ(state.arrays[a][i], before.arrays[a][i]) << "array " << a << " element " << i;
    }
  }
}

TEST_P(OptimizerContract, GradScaleMultipliesTheGradientFirst) {
  const auto optimizer = make();
  State scaled(50, optimizer->slots().size());
  State multiplied = scaled;
  for (auto& g : multiplied.grad) g *= 0.3F;
  for (std::int64_t u = 1; u <= 3; ++u) {
    scaled.update(*optimizer, {.lr = 0.1, .weight_decay = 0.01, .grad_scale = 0.3F, .update = u}, 0, 50);
    multiplied.update(*optimizer, {.lr = 0.1, .weight_decay = 0.01, .grad_scale = 1.0F, .update = u}, 0, 50);
  }
  EXPECT_EQ(scaled.bits(), multiplied.bits());
}

TEST_P(OptimizerContract, ALearningRateOfZeroLeavesTheParametersAlone) {
  const auto optimizer = make();
  State state(40, optimizer->slots().size());
  const std::vector<float> before(state.param().begin(), state.param().end());
  for (std::int64_t u = 1; u <= 3; ++u) {
    state.update(*optimizer, {.lr = 0, .weight_decay = 0.1, .grad_scale = 1, .update = u}, 0, 40);
  }
  EXPECT_THAT(state.param(), testing::ElementsAreArray(before));
}

TEST_P(OptimizerContract, ObjectsKeepNoStateOfTheirOwn) {
  const auto one = make();
  const auto two = make();
  State a(64, one->slots().size());
  State b = a;
  State unrelated(64, one->slots().size(), 9);
  for (std::int64_t u = 1; u <= 4; ++u) {
    a.update(*one, scalars(u), 0, 64);
    unrelated.update(*two, scalars(5 - u), 0, 64);
    b.update(*two, scalars(u), 0, 64);
  }
  EXPECT_EQ(a.bits(), b.bits());
}

TEST_P(OptimizerContract, AnEmptyRangeIsFine) {
  const auto optimizer = make();
  State state(8, optimizer->slots().size());
  const auto before = state.bits();
  state.update(*optimizer, scalars(1), 4, 4);
  EXPECT_EQ(state.bits(), before);
}

// Minimises sum(x^2) / 2, whose gradient is x itself.
TEST_P(OptimizerContract, DescendsABowl) {
  const auto optimizer = make();
  State state(256, optimizer->slots().size());
  const auto norm = [&] {
    double sum = 0;
    for (float x : state.param()) sum += static_cast<double>(x) * x;
    return std::sqrt(sum);
  };
  const double before = norm();
  for (std::int64_t u = 1; u <= 300; ++u) {
    std::copy(state.param().begin(), state.param().end(), state.grad.begin());
    state.update(*optimizer, {.lr = 0.02, .weight_decay = 0, .grad_scale = 1, .update = u}, 0, 256);
  }
  EXPECT_LT(norm(), 0.1 * before);
}

INSTANTIATE_TEST_SUITE_P(Plugins, OptimizerContract, testing::ValuesIn(implementations()),
                         [](const auto& param) { return param.param.label; });

TEST(Sgd, NesterovWithoutMomentumIsRefused) {
  const test::PluginComponent<OptimizerKind> sgd(DTRAIN_PLUGINS "/optimizer_sgd.so", "sgd");
  try {
    sgd.make({}, {{"nesterov", true}, {"dampening", 0.5}});
    FAIL() << "accepted";
  } catch (const UserError& e) {
    EXPECT_EQ(e.message(),
              "optimizer sgd: nesterov = true needs momentum above 0 and dampening = 0, found momentum = 0.000000 and "
              "dampening = 0.500000");
    EXPECT_EQ(
        e.hint(),
        "set optimizer.momentum (0.9 is usual) and leave optimizer.dampening at 0, or set optimizer.nesterov = false");
  }
}

}  // namespace
}  // namespace dtrain
