// SPDX-License-Identifier: Apache-2.0
#include "core/state/state_arena.h"

#include <gtest/gtest.h>

#include <dtrain/error.h>

namespace dtrain {
namespace {

TEST(StateArena, ReadOnlyMappingSeesWrites) {
  const StateArena arena("test", {{"state", 1000}, {"momentum", 5}});
  arena.writable(1)[4] = 7.0f;
  arena.writable(0)[999] = 3.0f;
  EXPECT_EQ(arena.readable(1)[4], 7.0f);
  EXPECT_EQ(arena.readable(0)[999], 3.0f);
  EXPECT_EQ(arena.readable(0)[0], 0.0f);
}

TEST(StateArenaDeathTest, AStrayWriteFaults) {
  const StateArena arena("test", {{"state", 16}});
  EXPECT_EXIT(const_cast<float*>(arena.readable(0).data())[0] = 1.0f, testing::KilledBySignal(SIGSEGV), "");
}

TEST(StateArena, SaysHowMuchMemoryWasWanted) {
  try {
    const StateArena arena("test", {{"state", std::size_t{1} << 50}});
    FAIL();
  } catch (const UserError& e) {
    EXPECT_NE(std::string(e.what()).find(std::to_string(std::size_t{4} << 50)), std::string::npos) << e.what();
  }
}

}  // namespace
}  // namespace dtrain
