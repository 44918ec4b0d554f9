// SPDX-License-Identifier: Apache-2.0
#include "core/observe/log_reader.h"

#include <dtrain/error.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

namespace dtrain {
namespace {

namespace fs = std::filesystem;

class LogReaderTest : public ::testing::Test {
 protected:
  LogReaderTest() {
    std::string name = (fs::temp_directory_path() / "dtrain-logs-XXXXXX").string();
    dir_ = ::mkdtemp(name.data());
    fs::create_directory(dir_ / "logs");
  }
  ~LogReaderTest() override { fs::remove_all(dir_); }
  void add(int rank, const std::string& text) {
    std::ofstream(dir_ / "logs" / ("rank-" + std::to_string(rank) + ".log"), std::ios::app) << text;
  }
  fs::path dir_;
};

TEST_F(LogReaderTest, ReadsWhatIsNewInWholeLines) {
  add(0, "a\nb");
  add(10, "x\n");
  LogReader reader(dir_, std::nullopt);
  EXPECT_EQ(reader.read_new(), "[rank 0] a\n[rank 10] x\n");
  EXPECT_EQ(reader.read_new(), "");
  add(0, "c\n");
  add(2, "late\n");
  EXPECT_EQ(reader.read_new(), "[rank 0] bc\n[rank 2] late\n");
}

TEST_F(LogReaderTest, OneRankIsNotTagged) {
  add(0, "a\n");
  add(1, "b\n");
  EXPECT_EQ(LogReader(dir_, 1).read_new(), "b\n");
}

TEST_F(LogReaderTest, MissingLogsAreUserErrors) {
  const auto message = [](const fs::path& dir, std::optional<int> rank) {
    try {
      LogReader(dir, rank);
    } catch (const UserError& e) {
      return e.message() + " | " + e.hint();
    }
    return std::string("no error");
  };
  EXPECT_EQ(message(dir_, std::nullopt),
            "no logs of ranks in " + (dir_ / "logs").string() + " | name a run directory, or a run of dtrain ps");
  add(0, "a\n");
  EXPECT_EQ(message(dir_, 3), "no log of rank 3 in " + (dir_ / "logs").string() + " | there are ranks 0 to 0");
}

}  // namespace
}  // namespace dtrain
