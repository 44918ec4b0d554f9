// SPDX-License-Identifier: Apache-2.0
#include "core/launch/run_dir.h"

#include <dtrain/error.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <fstream>

namespace dtrain {
namespace {

namespace fs = std::filesystem;
using ::testing::MatchesRegex;

class RunDirTest : public ::testing::Test {
 protected:
  RunDirTest() {
    std::string name = (fs::temp_directory_path() / "dtrain-rundir-XXXXXX").string();
    dir_ = ::mkdtemp(name.data());
  }
  ~RunDirTest() override {
    std::error_code error;
    fs::remove_all(dir_, error);
  }
  fs::path dir_;
};

std::string message_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const UserError& e) {
    EXPECT_EQ(e.exit_code(), 2);
    return e.message();
  }
  return "no error";
}

TEST_F(RunDirTest, NothingIsMadeBeforeTheRunIsPrepared) {
  const auto run = dir_ / "runs" / "a";
  auto lock = RunDirLock::before_prepare(run);
  EXPECT_FALSE(lock.held());
  EXPECT_FALSE(fs::exists(dir_ / "runs"));
  lock.after_prepare(run);
  EXPECT_TRUE(lock.held());
  EXPECT_EQ(run_dir_holder(run), ::getpid());
}

TEST_F(RunDirTest, AHeldDirectoryIsRefusedWithItsHolder) {
  auto lock = RunDirLock::before_prepare(dir_);
  lock.after_prepare(dir_);
  const auto expected = "run directory " + dir_.string() + " is in use by process " + std::to_string(::getpid());
  EXPECT_EQ(message_of([&] { RunDirLock::before_prepare(dir_); }), expected);
  EXPECT_EQ(message_of([&] { RunDirLock().after_prepare(dir_); }), expected);
}

TEST_F(RunDirTest, AReleasedDirectoryCanBeUsedAgain) {
  RunDirLock().after_prepare(dir_);
  EXPECT_EQ(run_dir_holder(dir_), std::nullopt);
  auto lock = RunDirLock::before_prepare(dir_);
  EXPECT_TRUE(lock.held());
  lock.after_prepare(dir_);
  EXPECT_EQ(run_dir_holder(dir_), ::getpid());
}

TEST_F(RunDirTest, ARunThatCameAndWentMeanwhileIsNoticed) {
  auto lock = RunDirLock::before_prepare(dir_);
  RunDirLock().after_prepare(dir_);
  EXPECT_EQ(message_of([&] { lock.after_prepare(dir_); }),
            "run directory " + dir_.string() + " was used by another run while this one was being prepared");
}

TEST_F(RunDirTest, PathsThatCannotBeRunDirectoriesAreRefused) {
  std::ofstream(dir_ / "file") << "x";
  EXPECT_EQ(message_of([&] { RunDirLock::before_prepare(dir_ / "file"); }),
            "cannot use run directory " + (dir_ / "file").string() + ": Not a directory");
  EXPECT_EQ(message_of([&] { RunDirLock().after_prepare(dir_ / "file" / "sub"); }),
            "cannot make run directory " + (dir_ / "file" / "sub").string() + ": Not a directory");
  EXPECT_EQ(message_of([&] { make_new_dir(dir_ / "file" / "sub"); }),
            "cannot make run directory " + (dir_ / "file" / "sub").string() + ": Not a directory");
}

TEST_F(RunDirTest, NewDirectoriesGetDifferentNames) {
  const auto wanted = dir_ / "runs" / "a";
  EXPECT_EQ(make_new_dir(wanted), wanted);
  EXPECT_EQ(make_new_dir(wanted), dir_ / "runs" / "a-2");
  EXPECT_EQ(make_new_dir(wanted), dir_ / "runs" / "a-3");
}

TEST(DefaultRunDir, HasNameDateAndTime) {
  EXPECT_THAT(default_run_dir("gpt").string(), MatchesRegex("runs/gpt-[0-9]{8}-[0-9]{6}"));
}

}  // namespace
}  // namespace dtrain
