// SPDX-License-Identifier: Apache-2.0
//
// A SIGKILL at each moment of a save leaves the previous checkpoint or the new one, whole, and does not disturb the
// next.
#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <functional>
#include <random>

#include "core/base/fault.h"
#include "tests/unit/ckpt/fixture.h"

namespace dtrain {
namespace {

using testing::UnorderedElementsAre;

// Runs `body` in a child; returns its wait status.
int in_child(const char* faults, const std::function<void()>& body) {
  const auto child = ::fork();
  if (child == 0) {
    ::setenv("DTRAIN_FAULT", faults, 1);
    fault::arm_from_environment();
    body();
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return status;
}

struct Kill {
  const char* point;
  std::int64_t newest;  // step that is found afterwards
  bool staging;         // a folder is left for clean_stale()
};

class KillTest : public CheckpointTest, public testing::WithParamInterface<Kill> {
 protected:
  std::vector<std::string> folders() const {
    std::vector<std::string> out;
    for (const auto& entry : std::filesystem::directory_iterator(root()))
      out.push_back(entry.path().filename().string());
    return out;
  }
};

TEST_P(KillTest, LeavesAWholeCheckpoint) {
  State before(10), after(20), next(30);
  save(checkpoints_, 10, before);
  const auto fault = std::string(GetParam().point) + "=kill";
  const auto status = in_child(fault.c_str(), [&] {
    save(checkpoints_, 20, after);
    checkpoints_.prune({.keep_last = 1});
  });
  ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << "fault point not reached";

  const auto newest = checkpoints_.newest_verified();
  ASSERT_TRUE(newest.checkpoint.has_value());
  ASSERT_EQ(newest.checkpoint->manifest().step, GetParam().newest);
  EXPECT_EQ(load(*newest.checkpoint), GetParam().newest == 10 ? before : after);
  EXPECT_EQ(newest.skipped.size(), GetParam().staging ? 1u : 0u);
  if (GetParam().staging) {
    EXPECT_EQ(newest.skipped.at(0).step, 20);
    EXPECT_EQ(newest.skipped.at(0).reason, "incomplete: the save did not end");
  }

  EXPECT_EQ(checkpoints_.clean_stale().size(), GetParam().staging ? 1u : 0u);
  save(checkpoints_, 20, after);
  save(checkpoints_, 30, next);
  checkpoints_.prune({.keep_last = 2});
  EXPECT_EQ(load(checkpoints_.newest_verified().checkpoint.value()), next);
  EXPECT_THAT(folders(), UnorderedElementsAre("step-000000020", "step-000000030"));
}

INSTANTIATE_TEST_SUITE_P(Points, KillTest,
                         testing::Values(Kill{"ckpt.shard.begin:rank=1", 10, true},
                                         Kill{"ckpt.shard.middle:rank=0", 10, true},
                                         Kill{"ckpt.shard.middle:rank=1", 10, true},
                                         Kill{"ckpt.shard.end:rank=0", 10, true},
                                         Kill{"ckpt.shard.end:rank=1", 10, true},
                                         Kill{"ckpt.manifest:step=20", 10, true}, Kill{"ckpt.publish.before", 10, true},
                                         Kill{"ckpt.publish.after", 20, false}, Kill{"ckpt.prune", 20, false}),
                         [](const auto& each) {
                           std::string name = each.param.point;
                           std::ranges::replace_if(
                               name, [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); }, '_');
                           return name;
                         });

// Half of the file is really on its way when ckpt.shard.middle is reached.
TEST_F(CheckpointTest, TheMiddleOfAShardIsHalfOfIt) {
  State state(20);
  in_child("ckpt.shard.middle:rank=0=kill", [&] { save(checkpoints_, 20, state); });
  const auto objects = store_.list("");
  ASSERT_EQ(objects.size(), 1u);
  EXPECT_TRUE(objects[0].key.ends_with("/rank-0.safetensors.unfinished"));
  const auto half = objects[0].size;
  save(checkpoints_, 20, state);
  EXPECT_EQ(half, checkpoints_.open(20).manifest().files.at(0).bytes / 2);
}

// At no special moment: between any two system calls of a save or a removal.
TEST_F(CheckpointTest, SurvivesKillsAtRandomMoments) {
  std::mt19937 random(1234);
  State first(1);
  save(checkpoints_, 1, first);
  std::int64_t newest = 1;
  for (int round = 0; round < 20; ++round) {
    int saved[2];
    ASSERT_EQ(::pipe(saved), 0);
    const auto child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      for (auto step = newest + 1;; ++step) {
        State state(step);
        save(checkpoints_, step, state);
        checkpoints_.prune({.keep_last = 2});
        if (::write(saved[1], "", 1) != 1) ::_exit(1);
      }
    }
    ::close(saved[1]);
    char byte;
    for (auto saves = 1 + random() % 2; saves > 0; --saves) ASSERT_EQ(::read(saved[0], &byte, 1), 1);
    for (auto spin = random() % 3'000'000; spin > 0; --spin) asm volatile("");
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    ::close(saved[0]);
    const auto found = checkpoints_.newest_verified();
    ASSERT_TRUE(found.checkpoint.has_value());
    const auto step = found.checkpoint->manifest().step;
    EXPECT_GT(step, newest);
    EXPECT_EQ(load(*found.checkpoint), State(step));
    for (const auto& skipped : found.skipped) EXPECT_EQ(skipped.reason, "incomplete: the save did not end");
    newest = step;
    checkpoints_.clean_stale();
    for (const auto& info : checkpoints_.list()) EXPECT_TRUE(info.complete) << info.folder;
  }
}

}  // namespace
}  // namespace dtrain
