// SPDX-License-Identifier: Apache-2.0
//
// Paths: relative to the file that wrote them, variables, blanks and letters beyond ASCII.
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/support/recipe_bench.h"

namespace dtrain::testing {
namespace {

OptionValue paths(std::vector<std::string> list) {
  return list;
}

std::string with_path(const std::string& path) {
  auto text = good_recipe();
  return text.replace(text.find("\"texts\""), 7, path);
}

TEST(RecipePaths, AreRelativeToTheFileThatWroteThem) {
  const RecipeBench bench;
  bench.write("a b-ä試/base/base.toml", with_path("\"../texte/ä.txt\""));
  bench.write("a b-ä試/r.toml", "schema = 1\nextends = \"base/base.toml\"\n[plugins]\npaths = \"./mine/\"\n");
  const auto plan = bench.plan({"a b-ä試/r.toml", {}, {}, {}, {}, nullptr});
  EXPECT_EQ(plan.train[0].component.options.at("path"), paths({bench.folder() + "/a b-ä試/texte/ä.txt"}));
  EXPECT_EQ(bench.places().folders, std::vector<std::filesystem::path>{bench.folder() + "/a b-ä試/mine"});
  EXPECT_EQ(origin(plan, "data.train.0.path"), "a b-ä試/base/base.toml:6:34");
  // On the command line they are relative to where dtrain was started.
  const auto set = bench.plan({"a b-ä試/r.toml", {"data.train.path=b/c"}, {}, {}, {}, nullptr});
  EXPECT_EQ(set.train[0].component.options.at("path"), paths({bench.folder() + "/b/c"}));
}

TEST(RecipePaths, VariablesStandInPathsOnly) {
  const RecipeBench bench;
  ::setenv("DTRAIN_TEST_DATA", "/data/x y", 1);
  ::unsetenv("DTRAIN_TEST_UNSET");
  EXPECT_EQ(bench.plan(with_path("[\"${env:DTRAIN_TEST_DATA}/a\", \"b${env:DTRAIN_TEST_DATA}\"]"))
                .train[0]
                .component.options.at("path"),
            paths({"/data/x y/a", bench.folder() + "/b/data/x y"}));
  EXPECT_EQ(bench.mistakes(with_path("\"${env:DTRAIN_TEST_UNSET}/a\"")),
            "r.toml:6:34: data.train.path: the environment variable DTRAIN_TEST_UNSET is not set\n"
            "  hint: export DTRAIN_TEST_UNSET=...");
  EXPECT_EQ(bench.mistakes(with_path("\"${HOME}/a\"")),
            "r.toml:6:34: data.train.path: cannot read '${HOME}' in a path\n  hint: write ${env:NAME}");
  EXPECT_EQ(bench.mistakes(with_path("\"~/a\"")),
            "r.toml:6:34: data.train.path: '~' is not expanded in \"~/a\"\n  hint: write ${env:HOME}/a");
  EXPECT_EQ(bench.mistakes(good_recipe("", "[run]\nname = \"${env:USER}\"\n")),
            "r.toml:15:8: run.name: ${env:NAME} may stand in paths only, found \"${env:USER}\"\n"
            "  hint: write the value, or give it with --set run.name=...");
}

TEST(RecipePaths, UrlsStay) {
  const RecipeBench bench;
  EXPECT_EQ(bench.plan(with_path("\"s3://bucket/../x\"")).train[0].component.options.at("path"),
            paths({"s3://bucket/../x"}));
}

}  // namespace
}  // namespace dtrain::testing
