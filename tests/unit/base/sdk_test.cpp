// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>

#include <gtest/gtest.h>

#include <dtrain/comm.h>
#include <dtrain/data.h>
#include <dtrain/optimizer.h>
#include <dtrain/rng.h>
#include <dtrain/schedule.h>
#include <dtrain/store.h>
#include <dtrain/tokenizer.h>

#include "core/base/fault.h"

namespace dtrain {
namespace {

// Known answers from the Random123 distribution (kat_vectors, philox4x32-10).
TEST(Philox, KnownAnswers) {
  EXPECT_EQ(rng::philox(0, {0, 0, 0, 0}), (rng::Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(rng::philox(~0ull, {~0u, ~0u, ~0u, ~0u}), (rng::Block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(rng::philox(0x299f31d0a4093822ull, {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}),
            (rng::Block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Fault, MatchesNameStepRankAndVisit) {
  ::setenv("DTRAIN_FAULT", "train.commit:step=3:rank=1:nth=2=throw", 1);
  fault::arm_from_environment();
  EXPECT_NO_THROW(fault::point("train.commit", 0, 3));
  EXPECT_NO_THROW(fault::point("train.commit", 1, 2));
  EXPECT_NO_THROW(fault::point("train.other", 1, 3));
  EXPECT_NO_THROW(fault::point("train.commit", 1, 3));
  EXPECT_THROW(fault::point("train.commit", 1, 3), UserError);
  ::setenv("DTRAIN_FAULT", "train.commit:step=x=kill", 1);
  EXPECT_THROW(fault::arm_from_environment(), UserError);
  ::setenv("DTRAIN_FAULT", "a=nonsense", 1);
  EXPECT_THROW(fault::arm_from_environment(), UserError);
  ::unsetenv("DTRAIN_FAULT");
  fault::arm_from_environment();
}

}  // namespace
}  // namespace dtrain
