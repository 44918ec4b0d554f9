// SPDX-License-Identifier: Apache-2.0
//
// Readers in other processes while checkpoints are saved and removed.
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/ckpt/fixture.h"

namespace dtrain {
namespace {

TEST_F(CheckpointTest, ReadersNeverSeeABrokenCheckpoint) {
  State first(1);
  save(checkpoints_, 1, first);
  const auto writer = ::fork();
  ASSERT_GE(writer, 0);
  if (writer == 0) {
    for (std::int64_t step = 2; step <= 120; ++step) {
      State state(step);
      save(checkpoints_, step, state);
      checkpoints_.prune({.keep_last = 1});
    }
    ::_exit(0);
  }
  std::int64_t newest = 1;
  int reads = 0, status = 0;
  while (::waitpid(writer, &status, WNOHANG) == 0) {
    const auto found = checkpoints_.newest_verified();
    ASSERT_TRUE(found.checkpoint.has_value());
    const auto step = found.checkpoint->manifest().step;
    EXPECT_GE(step, newest);
    newest = step;
    for (const auto& skipped : found.skipped) EXPECT_EQ(skipped.reason, "incomplete: the save did not end");
    try {
      EXPECT_EQ(load(*found.checkpoint), State(step));
    } catch (const UserError&) {  // it was removed between the two calls; then there is a newer one
      EXPECT_GT(checkpoints_.newest_verified().checkpoint->manifest().step, step);
    } catch (const RecoverableError&) {
      EXPECT_GT(checkpoints_.newest_verified().checkpoint->manifest().step, step);
    }
    ++reads;
  }
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_EQ(checkpoints_.newest_verified().checkpoint->manifest().step, 120);
  EXPECT_GT(reads, 5);
}

}  // namespace
}  // namespace dtrain
