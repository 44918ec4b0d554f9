// SPDX-License-Identifier: Apache-2.0
#include "core/base/units.h"

#include <gtest/gtest.h>

namespace dtrain {
namespace {

TEST(Units, ConvertsWithinADimension) {
  EXPECT_EQ(parse_quantity("30 s", "s"), 30.0);
  EXPECT_EQ(parse_quantity("1 min", "s"), 60.0);
  EXPECT_EQ(parse_quantity("1.5h", "s"), 5400.0);
  EXPECT_EQ(parse_quantity(" 30 ms ", "s"), 0.03);
  EXPECT_EQ(parse_quantity("2 d", "h"), 48.0);
  EXPECT_EQ(parse_quantity("25 MiB", "bytes"), 26214400.0);
  EXPECT_EQ(parse_quantity("25MB", "bytes"), 25e6);
  EXPECT_EQ(parse_quantity("1 GiB", "KiB"), 1048576.0);
  EXPECT_EQ(parse_quantity("-5e-1 s", "ms"), -500.0);
}

TEST(Units, OtherWordsConvertToThemselvesOnly) {
  EXPECT_EQ(parse_quantity("50 steps", "steps"), 50.0);
  EXPECT_EQ(parse_quantity("50 updates", "steps"), std::nullopt);
}

TEST(Units, RefusesWhatIsNoQuantity) {
  for (const auto* text : {"", "s", "30", "30 parsecs", "30 MiB", "3 0 s", "30 s s", "0x10 s", "1 S"})
    EXPECT_EQ(parse_quantity(text, "s"), std::nullopt) << text;
}

TEST(Units, NamesWhatConverts) {
  EXPECT_EQ(convertible_units("s"), "ns, us, ms, s, min, h, d");
  EXPECT_EQ(convertible_units("steps"), "steps");
}

}  // namespace
}  // namespace dtrain
