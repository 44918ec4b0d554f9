// SPDX-License-Identifier: Apache-2.0
#include <dtrain/combine.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace dtrain {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

TEST(Combine, EveryHalfKeepsItsBits) {
  for (std::uint32_t bits = 0; bits <= 0xffff; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const float value = half_to_float(half);
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(half_to_float(float_to_half(value))));
    } else {
      ASSERT_EQ(float_to_half(value), half) << bits;
    }
  }
}

TEST(Combine, HalfsOfKnownValue) {
  EXPECT_EQ(half_to_float(0x3c00), 1.0f);
  EXPECT_EQ(half_to_float(0xc000), -2.0f);
  EXPECT_EQ(half_to_float(0x7bff), 65504.0f);  // the largest
  EXPECT_EQ(half_to_float(0x0400), 0x1p-14f);  // the smallest that is normal
  EXPECT_EQ(half_to_float(0x0001), 0x1p-24f);  // the smallest
  EXPECT_EQ(half_to_float(0x7c00), kInfinity);
  EXPECT_TRUE(std::signbit(half_to_float(0x8000)));
}

TEST(Combine, HalfsRoundToNearestEven) {
  EXPECT_EQ(float_to_half(1.0f + 0x1p-11f), 0x3c00);    // half way: to the even one
  EXPECT_EQ(float_to_half(1.0f + 0x3p-11f), 0x3c02);    // half way: to the even one
  EXPECT_EQ(float_to_half(1.0f + 0x1.1p-11f), 0x3c01);  // above half way
  EXPECT_EQ(float_to_half(65519.0f), 0x7bff);
  EXPECT_EQ(float_to_half(65520.0f), 0x7c00);  // half way to 65536: infinity
  EXPECT_EQ(float_to_half(0x1p-25f), 0x0000);  // half of the smallest: to even
  EXPECT_EQ(float_to_half(0x1.8p-24f), 0x0002);
  EXPECT_EQ(float_to_half(-0x1p-24f), 0x8001);
  EXPECT_EQ(float_to_half(0x1.ffcp-15f + 0x1p-25f), 0x0400);  // carries into the normal ones
}

TEST(Combine, Bf16RoundsToNearestEven) {
  EXPECT_EQ(float_to_bf16(1.0f), 0x3f80);
  EXPECT_EQ(float_to_bf16(1.0f + 0x1p-8f), 0x3f80);
  EXPECT_EQ(float_to_bf16(1.0f + 0x3p-8f), 0x3f82);
  EXPECT_EQ(float_to_bf16(std::numeric_limits<float>::max()), 0x7f80);
  EXPECT_EQ(bf16_to_float(0x3f80), 1.0f);
  // A NaN whose payload is in the low half only.
  EXPECT_TRUE(std::isnan(bf16_to_float(float_to_bf16(std::bit_cast<float>(0x7f800001u)))));
}

TEST(Combine, SumsOf16BitFloatsAreRoundedOnce) {
  std::uint16_t a = float_to_half(2048.0f);
  const std::uint16_t b = float_to_half(1.0f);
  combine(&a, &a, &b, 1, DType::f16, ReduceOp::sum);
  EXPECT_EQ(half_to_float(a), 2048.0f);  // 2049 is half way between 2048 and 2050
  std::uint16_t c = float_to_bf16(256.0f);
  const std::uint16_t d = float_to_bf16(3.0f);
  combine(&c, &c, &d, 1, DType::bf16, ReduceOp::sum);
  EXPECT_EQ(bf16_to_float(c), 260.0f);  // 259 lies half way between 258 and 260
}

TEST(Combine, IntegersWrap) {
  std::int32_t a = std::numeric_limits<std::int32_t>::max();
  const std::int32_t b = 1;
  combine(&a, &a, &b, 1, DType::i32, ReduceOp::sum);
  EXPECT_EQ(a, std::numeric_limits<std::int32_t>::min());
  std::uint8_t c = 200;
  const std::uint8_t d = 100;
  combine(&c, &c, &d, 1, DType::u8, ReduceOp::sum);
  EXPECT_EQ(c, 44);
}

TEST(Combine, NaNWins) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const auto op : {ReduceOp::max, ReduceOp::min}) {
    const float one = 1.0f;
    float out = 0;
    combine(&out, &nan, &one, 1, DType::f32, op);
    EXPECT_TRUE(std::isnan(out));
    combine(&out, &one, &nan, 1, DType::f32, op);
    EXPECT_TRUE(std::isnan(out));
  }
}

}  // namespace
}  // namespace dtrain
