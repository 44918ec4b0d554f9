// SPDX-License-Identifier: Apache-2.0
#include "core/base/log.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

#include "core/base/line_file.h"

namespace dtrain {
namespace {

TEST(Logger, WritesOneEventALine) {
  std::string out;
  const Logger log([&](std::string_view line) { out += line; }, {{"rank", 2}});
  log.info("save", {{"step", 500}, {"path", "/a b/\"c\""}, {"ok", true}, {"loss", 0.5}, {"note", ""}});
  EXPECT_THAT(
      out, ::testing::MatchesRegex(
               "[-0-9]{10}T[0-9:.]{12}Z info rank=2 event=save step=500 path=\"/a b/\\\\\"c\\\\\"\" ok=true loss=0.5 "
               "note=\"\"\n"));
  out.clear();
  log.error("x", {{"text", "two\nlines\t\x01"}});
  EXPECT_THAT(out, ::testing::EndsWith(" error rank=2 event=x text=\"two\\nlines\\x09\\x01\"\n"));
  Logger().info("nowhere");
}

std::string content(const std::filesystem::path& path) {
  std::ifstream in(path);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

TEST(LineFile, AppendsWholeLinesAndCutsATornOne) {
  std::string name = (std::filesystem::temp_directory_path() / "dtrain-lines-XXXXXX").string();
  const std::filesystem::path dir = ::mkdtemp(name.data());
  const auto file = dir / "a.log";
  EXPECT_TRUE(LineFile(file).append("one\n"));
  std::ofstream(file, std::ios::app) << std::string(10'000, 't');
  EXPECT_TRUE(LineFile(file).append("two\n"));
  EXPECT_EQ(content(file), "one\ntwo\n");
  std::ofstream(file) << "only torn";
  EXPECT_TRUE(LineFile(file).append("three\n"));
  EXPECT_EQ(content(file), "three\n");
  EXPECT_THROW(LineFile(dir / "missing" / "b.log"), std::system_error);
  std::filesystem::remove_all(dir);
}

}  // namespace
}  // namespace dtrain
