// SPDX-License-Identifier: Apache-2.0
#include "core/base/atomic_file.h"

#include <dtrain/error.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "tests/support/temp_folder.h"

namespace dtrain {
namespace {

std::string read(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string refusal(const std::filesystem::path& path) {
  try {
    write_file_atomically(path, "text");
  } catch (const UserError& e) {
    EXPECT_EQ(e.exit_code(), 1);
    return e.message();
  }
  return "written";
}

TEST(AtomicFile, WritesAndReplaces) {
  TempFolder folder;
  const auto path = folder.path() / "file";
  write_file_atomically(path, "a long first text");
  EXPECT_EQ(read(path), "a long first text");
  write_file_atomically(path, "second");
  EXPECT_EQ(read(path), "second");
  write_file_atomically(path, "");
  EXPECT_EQ(read(path), "");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
}

TEST(AtomicFile, NamesPathAndReason) {
  TempFolder folder;
  const auto missing = folder.path() / "none" / "file";
  EXPECT_EQ(refusal(missing),
            "cannot create a file beside " + missing.string() + " (4 bytes wanted): No such file or directory");
  const auto taken = folder.path() / "taken";
  std::filesystem::create_directory(taken);
  EXPECT_EQ(refusal(taken), "cannot rename a file to " + taken.string() + " (4 bytes wanted): Is a directory");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
}

}  // namespace
}  // namespace dtrain
