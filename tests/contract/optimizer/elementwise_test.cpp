// SPDX-License-Identifier: Apache-2.0
//
// The drivers behind elementwise_optimizer: every kernel gives the bits of the plainest possible loop.
#include <dtrain/optimizer.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>

namespace dtrain {
namespace {

// Sums of products in every slot, so that a contracted multiplication and addition would show.
struct Mixer {
  static constexpr std::array<std::string_view, 3> slots = {"a", "b", "c"};
  struct Coefficients {
    float x, y;
  };
  Coefficients coefficients(const UpdateScalars& u) const { return {static_cast<float>(u.lr), 0.7F}; }
  static void apply(const Coefficients& k, float& p, float g, float* s) {
    s[0] = k.x * s[0] + k.y * g;
    s[1] = k.y * s[1] + g * g;
    s[2] = s[2] * p + s[0];
    p = p * k.y - k.x * s[0] / (std::sqrt(s[1]) + s[2] * s[2] + 0.5F);
  }
};

struct Buffers {
  explicit Buffers(std::size_t n) {
    std::mt19937 random(11);
    std::normal_distribution<float> normal;
    for (auto& array : arrays) {
      array.resize(n);
      for (auto& value : array) value = std::abs(normal(random));
    }
  }
  TensorRange range() {
    slots = {arrays[2].data(), arrays[3].data(), arrays[4].data()};
    return {.name = "w", .shape = {}, .offset = 0, .param = arrays[0], .grad = arrays[1], .slots = slots};
  }
  std::vector<std::uint32_t> bits() const {
    std::vector<std::uint32_t> out;
    for (const auto& array : arrays) {
      for (float value : array) out.push_back(std::bit_cast<std::uint32_t>(value));
    }
    return out;
  }
  std::array<std::vector<float>, 5> arrays;
  std::array<float*, 3> slots{};
};

// One element at a time, each product in memory before it is added: nothing to vectorise or contract.
void plain(const Mixer::Coefficients& k, float scale, const TensorRange& range) {
  for (std::size_t i = 0; i < range.param.size(); ++i) {
    volatile float g = range.grad[i] * scale;
    volatile float a = k.x * range.slots[0][i], b = k.y * g;
    volatile float s0 = a + b;
    volatile float c = k.y * range.slots[1][i], d = g * g;
    volatile float s1 = c + d;
    volatile float e = range.slots[2][i] * range.param[i];
    volatile float s2 = e + s0;
    volatile float square = s2 * s2, root = std::sqrt(s1);
    volatile float denominator = root + square;
    denominator = denominator + 0.5F;
    volatile float numerator = k.x * s0;
    volatile float quotient = numerator / denominator, kept = range.param[i] * k.y;
    range.slots[0][i] = s0;
    range.slots[1][i] = s1;
    range.slots[2][i] = s2;
    range.param[i] = kept - quotient;
  }
}

TEST(Elementwise, EveryKernelGivesTheBitsOfThePlainLoop) {
  for (std::size_t n : {0UL, 1UL, 7UL, 8UL, 9UL, 4099UL}) {
    Buffers expected(n);
    Buffers baseline(n);
    Buffers chosen(n);
    const Mixer::Coefficients k = Mixer().coefficients({.lr = 0.013});
    for (int repeat = 0; repeat < 3; ++repeat) {
      plain(k, 0.3F, expected.range());
      elementwise::run_baseline<Mixer>(k, 0.3F, baseline.range());
      elementwise::kernel_for_this_cpu<Mixer>()(k, 0.3F, chosen.range());
      ASSERT_EQ(expected.bits(), baseline.bits()) << n;
      ASSERT_EQ(expected.bits(), chosen.bits()) << n;
    }
  }
}

TEST(Elementwise, OptionsAreOptional) {
  static_assert(std::is_same_v<ElementwiseOptimizer<Mixer>::Options, NoOptions>);
  const ElementwiseOptimizer<Mixer> optimizer({}, {});
  EXPECT_EQ(optimizer.granularity(), Granularity::element);
  EXPECT_EQ(optimizer.slots().size(), 3U);
}

}  // namespace
}  // namespace dtrain
