// SPDX-License-Identifier: Apache-2.0
//
// A disk that is full in the middle of a save. Mounts a small tmpfs in a mount namespace of its own: skipped where that
// is not allowed.
#include <gmock/gmock.h>
#include <sched.h>
#include <sys/mount.h>

#include "core/base/atomic_file.h"
#include "tests/unit/ckpt/fixture.h"

namespace dtrain {
namespace {

using testing::HasSubstr;

class FullDisk : public testing::Test {
 protected:
  // A state's file has about 240 kB: room for one and a half.
  void SetUp() override {
    if (::unshare(CLONE_NEWNS) != 0 || ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount("tmpfs", folder_.path().c_str(), "tmpfs", 0, "size=400k") != 0) {
      GTEST_SKIP() << "may not mount a tmpfs: " << std::generic_category().message(errno);
    }
    mounted_ = true;
  }
  void TearDown() override {
    if (mounted_) ::umount2(folder_.path().c_str(), MNT_DETACH);
  }

  std::string root() const { return (folder_.path() / "checkpoints").string(); }

  TempFolder folder_;
  bool mounted_ = false;
};

TEST_F(FullDisk, TheFirstCheckpointSurvivesTheSecond) {
  LocalStore store{StoreContext{root()}};
  CheckpointStore checkpoints(store, root());
  State state(1, 1000);
  save(checkpoints, 1, state, 1);
  State next(2, 1000);
  const auto text = message_of<RecoverableError>([&] { checkpoints.write(2, "n", 0, next.slices<TensorSlice>(0, 1)); });
  EXPECT_THAT(text, HasSubstr("checkpoint of step 2: rank-0.safetensors needs " +
                              std::to_string(checkpoints.open(1).bytes()) + " bytes"));
  EXPECT_THAT(text, HasSubstr(root() + "/step-000000002.partial-n/rank-0.safetensors"));
  EXPECT_THAT(text, HasSubstr("No space left on device"));
  EXPECT_TRUE(store.list("step-000000002.partial-n").empty());
  checkpoints.discard(2, "n");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(root()), {}), 1);
  State target(0, 1000);
  checkpoints.newest_verified().checkpoint.value().load(target.slices<TensorTarget>(0, 1));
  EXPECT_EQ(target, state);
  // Space appears: the same save works.
  checkpoints.prune({.keep_last = 1});
  State small(3);
  save(checkpoints, 3, small, 1);
  EXPECT_EQ(checkpoints.newest_verified().checkpoint->manifest().step, 3);
}

TEST_F(FullDisk, AFileThatIsReplacedStaysWhole) {
  const auto path = folder_.path() / "file";
  write_file_atomically(path, "old");
  const std::string big(1 << 20, 'x');
  EXPECT_EQ(message_of<UserError>([&] { write_file_atomically(path, big); }),
            "cannot write " + path.string() + " (1048576 bytes wanted): No space left on device");
  EXPECT_EQ(read_file(path), "old");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_.path()), {}), 1);
}

}  // namespace
}  // namespace dtrain
