// SPDX-License-Identifier: Apache-2.0
//
// What only a folder can do wrong.
#include "plugins/stores/local/local_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "tests/support/temp_folder.h"

namespace dtrain {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

void touch(const fs::path& path) {
  std::ofstream(path) << "x";
}

std::span<const std::byte> bytes(std::string_view text) {
  return std::as_bytes(std::span(text));
}

template <class Error, class Body>
std::string message_of(Body&& body) {
  try {
    body();
  } catch (const Error& e) {
    return e.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}

TEST(LocalStore, RefusesAFileAsRoot) {
  TempFolder folder;
  const auto root = folder.path() / "root";
  touch(root);
  EXPECT_EQ(message_of<UserError>([&] { LocalStore store(StoreContext{root.string()}); }),
            "store local: " + root.string() + " is a regular file where a folder is needed");
}

TEST(LocalStore, RefusesAFileWhereAFolderIsNeeded) {
  TempFolder folder;
  LocalStore store(StoreContext{folder.path().string()});
  touch(folder.path() / "s");
  EXPECT_EQ(message_of<RecoverableError>([&] { store.create("s/a"); }),
            "store local: " + (folder.path() / "s").string() + " is a regular file where a folder is needed");
}

TEST(LocalStore, RefusesAFolderAsObject) {
  TempFolder folder;
  LocalStore store(StoreContext{folder.path().string()});
  fs::create_directories(folder.path() / "s" / "a");
  EXPECT_FALSE(store.exists("s/a"));
  const auto path = (folder.path() / "s" / "a").string();
  EXPECT_EQ(message_of<RecoverableError>([&] { store.open("s/a"); }),
            "store local: cannot read " + path + ": Is a directory");
  EXPECT_EQ(message_of<RecoverableError>([&] { store.create("s/a"); }),
            "store local: cannot create " + path + ": Is a directory");
}

TEST(LocalStore, RefusesKeysThatLeaveTheRoot) {
  TempFolder folder;
  LocalStore store(StoreContext{(folder.path() / "root").string()});
  for (const auto* key : {"", "/", "/etc", "..", "a/../b", "a//b", "a/", "./a", "a b", "a\nb", ".trash-1/a"}) {
    EXPECT_THROW(store.create(key), InvariantError) << key;
    EXPECT_THROW(store.remove(key), InvariantError) << key;
  }
}

TEST(LocalStore, ListsAndRemovesWhatAKilledWriterLeft) {
  TempFolder folder;
  LocalStore store(StoreContext{folder.path().string()});
  const auto child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const auto object = store.create("s.partial/a");
    object->write(bytes("half"));
    ::_exit(0);  // as a kill would, without destructors
  }
  ::waitpid(child, nullptr, 0);
  EXPECT_FALSE(store.exists("s.partial/a"));
  ASSERT_EQ(store.list("s.partial").size(), 1u);
  EXPECT_EQ(store.list("s.partial")[0].key, "s.partial/a.unfinished");
  store.remove("s.partial");
  EXPECT_TRUE(fs::is_empty(folder.path()));
}

TEST(LocalStore, RemovalSurvivesBeingKilledHalfway) {
  TempFolder folder;
  // What a process leaves that died while deleting.
  fs::create_directories(folder.path() / ".trash-123" / "deep");
  touch(folder.path() / ".trash-123" / "manifest.json");
  LocalStore store(StoreContext{folder.path().string()});
  EXPECT_TRUE(store.list("").empty());
  const auto object = store.create("s/a");
  object->finish();
  EXPECT_FALSE(fs::exists(folder.path() / ".trash-123"));
}

TEST(LocalStore, FollowsLinksToFoldersButNotInCircles) {
  TempFolder folder, other;
  LocalStore store(StoreContext{folder.path().string()});
  touch(other.path() / "a");
  fs::create_directory_symlink(other.path(), folder.path() / "s");
  EXPECT_EQ(store.list("s").at(0).key, "s/a");
  fs::create_directory_symlink(other.path(), other.path() / "again");
  EXPECT_LT(store.list("").size(), 100u);
}

}  // namespace
}  // namespace dtrain
