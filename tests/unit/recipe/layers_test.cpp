// SPDX-License-Identifier: Apache-2.0
//
// `extends`, site files, --set, recipes on a stream: what lies over what, and where values come from.
#include <gtest/gtest.h>

#include <sstream>

#include "tests/support/recipe_bench.h"

namespace dtrain::testing {
namespace {

TEST(RecipeLayers, TablesMergeAndArraysAreReplaced) {
  const RecipeBench bench;
  bench.write("base/gpt.toml",
              "schema = 1\n[model]\nkind = \"gpt\"\nnum_layers = 2\nhidden_size = 32\n[optimizer]\nkind = "
              "\"adamw\"\nlr = 1e-3\n"
              "groups = [{ match = \"a\" }, { match = \"b\" }]\n");
  bench.write(
      "r.toml",
      "schema = 1\nextends = \"base/gpt.toml\"\n[model]\nnum_layers = 3\n[optimizer]\ngroups = [{ match = \"c\" }]\n"
      "[data]\ntrain = { kind = \"synthetic\" }\n[train]\nsteps = 1\nglobal_batch_size = 1\nmicro_batch_size = 1\n");
  const auto plan = bench.plan({"r.toml", {"model.num_layers=4"}, {}, {}, {}, nullptr});
  EXPECT_EQ(plan.model.options.at("num_layers"), OptionValue(std::int64_t{4}));
  EXPECT_EQ(plan.model.options.at("hidden_size"), OptionValue(std::int64_t{32}));
  ASSERT_EQ(plan.groups.size(), 1u);
  EXPECT_EQ(plan.groups[0].match, "c");
  EXPECT_EQ(origin(plan, "model.num_layers"), "--set #1 (replaces r.toml:4:14, base/gpt.toml:4:14)");
  EXPECT_EQ(origin(plan, "model.hidden_size"), "base/gpt.toml:5:15");
  EXPECT_EQ(origin(plan, "model.num_heads"), "default");
}

TEST(RecipeLayers, LaterBasesWinAndTheRecipeWinsOverAll) {
  const RecipeBench bench;
  bench.write("a.toml", "schema = 1\n[train]\nsteps = 1\nglobal_batch_size = 8\nmicro_batch_size = 1\n");
  bench.write("b.toml", "schema = 1\n[train]\nsteps = 2\nmicro_batch_size = 2\n");
  const auto plan = bench.plan(
      "schema = 1\nextends = [\"a.toml\", \"b.toml\"]\n[train]\nmicro_batch_size = 4\n[model]\nkind = \"mlp\"\n"
      "[optimizer]\nkind = \"sgd\"\nlr = 1.0\n[data]\ntrain = { kind = \"synthetic\" }\n");
  EXPECT_EQ(plan.steps, 2);
  EXPECT_EQ(plan.micro_batch_size, 4);
  EXPECT_EQ(plan.global_batch_size, 8);
}

TEST(RecipeLayers, AnotherKindDropsTheOldOnesKeys) {
  const RecipeBench bench;
  bench.write("base.toml", good_recipe("", "beta1 = 0.8\nweight_decay = 0.1\n[comm]\ninterface = \"lo\"\n"));
  const auto plan = bench.plan("schema = 1\nextends = \"base.toml\"\n[optimizer]\nkind = \"sgd\"\nmomentum = 0.9\n");
  EXPECT_EQ(plan.optimizer.name, "sgd");
  EXPECT_EQ(plan.lr, 1e-3) << "lr is the host's and stays";
  EXPECT_EQ(plan.weight_decay, 0.1);
  ASSERT_EQ(plan.notes.size(), 1u);
  EXPECT_EQ(plan.notes[0], "r.toml:4:8: optimizer.kind = \"sgd\" leaves out optimizer.beta1 of adamw (base.toml:14:1)");
  // The same kind again changes nothing, and neither does the default spelt out.
  EXPECT_TRUE(
      bench.plan("schema = 1\nextends = \"base.toml\"\n[optimizer]\nkind = \"adamw\"\n[comm]\nkind = \"gloo\"\n")
          .notes.empty());
}

TEST(RecipeLayers, SetOfAKindWorksInAnyOrder) {
  const RecipeBench bench;
  for (const auto& sets : {std::vector<std::string>{"optimizer.kind=sgd", "optimizer.momentum=0.5"},
                           std::vector<std::string>{"optimizer.momentum=0.5", "optimizer.kind=\"sgd\""}}) {
    const auto plan = bench.plan(good_recipe("", "beta1 = 0.8\n"), sets);
    EXPECT_EQ(plan.optimizer.options.at("momentum"), OptionValue(0.5));
  }
}

TEST(RecipeLayers, CyclesAndMissingFiles) {
  const RecipeBench bench;
  bench.write("a.toml", "schema = 1\nextends = \"b.toml\"\n");
  bench.write("b.toml", "schema = 1\n\nextends = [\"a.toml\"]\n");
  const auto cycle = bench.mistakes({"a.toml", {}, {}, {}, {}, nullptr});
  EXPECT_TRUE(cycle.starts_with("b.toml:3:12: extends: this file extends itself: a.toml:2:11 extends " +
                                bench.folder() + "/b.toml, b.toml:3:12 extends " + bench.folder() + "/a.toml"))
      << cycle;
  EXPECT_EQ(bench.mistakes("schema = 1\nextends = \"no such.toml\"\n"),
            "r.toml:2:11: extends: cannot read no such.toml: No such file or directory");
  EXPECT_EQ(bench.mistakes({"nowhere.toml", {}, {}, {}, {}, nullptr}),
            "cannot read nowhere.toml: No such file or directory");
  EXPECT_EQ(bench.mistakes({".", {}, {}, {}, {}, nullptr}),
            "cannot read .: Is a directory\n  hint: name the recipe in it");
  EXPECT_EQ(bench.mistakes("schema = 1\nextends = 3\n").substr(0, 77),
            "r.toml:2:11: extends: expected a file or a list of files, found 3 (an integer)");
}

TEST(RecipeLayers, TheSameBaseTwiceIsNoCycle) {
  const RecipeBench bench;
  bench.write("base.toml", good_recipe());
  bench.write("a.toml", "schema = 1\nextends = \"base.toml\"\n");
  bench.write("b.toml", "schema = 1\nextends = \"base.toml\"\n");
  EXPECT_EQ(bench.mistakes("schema = 1\nextends = [\"a.toml\", \"b.toml\"]\n"), "accepted");
}

TEST(RecipeLayers, Schema) {
  const RecipeBench bench;
  EXPECT_EQ(bench.mistakes(good_recipe().substr(11)),
            "r.toml:1:1: schema: missing: a recipe says which format it is written in\n"
            "  hint: write schema = 1 as the first line");
  EXPECT_EQ(bench.mistakes("schema = 7\nbrand = \"new\"\n"),
            "r.toml:1:10: schema: the recipe has format 7, this dtrain reads format 1\n  hint: use a newer dtrain");
  EXPECT_EQ(bench.mistakes("schema = \"1\"\n" + good_recipe().substr(11)),
            "r.toml:1:10: schema: expected 1, found \"1\" (a string)");
  EXPECT_EQ(bench.mistakes("schema = 0\n" + good_recipe().substr(11)),
            "r.toml:1:10: schema: expected 1, found 0 (an integer)");
}

TEST(RecipeLayers, Stream) {
  const RecipeBench bench;
  std::istringstream good(good_recipe());
  const auto plan = bench.plan({"-", {}, {}, {}, {}, &good});
  EXPECT_EQ(plan.name, "run");
  EXPECT_EQ(plan.train[0].component.options.at("path"),
            OptionValue(std::vector<std::string>{bench.folder() + "/texts"}));
  std::istringstream bad(good_recipe("lanse = 3\n"));
  EXPECT_TRUE(bench.mistakes({"-", {}, {}, {}, {}, &bad}).starts_with("stdin:11:1: train.lanse: unknown key"));
}

TEST(RecipeLayers, SiteFileLiesBelowTheRecipe) {
  const RecipeBench bench;
  bench.write("site.toml", "schema = 1\n[launch]\nranks = 4\ngrace = 5\n[comm]\ninterface = \"eth0\"\n");
  bench.write("r.toml", good_recipe("", "[launch]\nranks = 2\n"));
  const auto plan = bench.plan({"r.toml", {}, {}, {}, "site.toml", nullptr});
  EXPECT_EQ(plan.ranks, 2);
  EXPECT_EQ(plan.grace_s, 5);
  EXPECT_EQ(origin(plan, "launch.ranks"), "r.toml:15:9 (replaces site.toml:3:9)");
  bench.write("site.toml", "schema = 1\n[train]\nsteps = 4\n");
  EXPECT_EQ(bench.mistakes({"r.toml", {}, {}, {}, "site.toml", nullptr}),
            "site.toml:2:2: train: a site file holds facts of a machine; this table belongs to the recipe\n"
            "  hint: a site file may have [checkpoint], [comm], [launch], [log], [parallel] and [plugins]");
}

TEST(RecipeLayers, CommandLineOptionsHaveTheirOrigin) {
  const RecipeBench bench;
  bench.write("r.toml", good_recipe("", "[launch]\nranks = 2\n[plugins]\npaths = \"p\"\nfiles = \"q.so\"\n"));
  const auto plan = bench.plan({"r.toml", {}, 3, {"x.so"}, {}, nullptr});
  EXPECT_EQ(plan.ranks, 3);
  EXPECT_EQ(origin(plan, "launch.ranks"), "--ranks (replaces r.toml:15:9)");
  EXPECT_EQ(bench.places().files,
            (std::vector<std::filesystem::path>{bench.folder() + "/x.so", bench.folder() + "/q.so"}));
  EXPECT_EQ(bench.places().folders, std::vector<std::filesystem::path>{bench.folder() + "/p"});
  EXPECT_EQ(bench.mistakes({"r.toml", {}, 0, {}, {}, nullptr}),
            "--ranks: launch.ranks: 0 (an integer) is out of range; expected an integer from 1 to 65536");
}

}  // namespace
}  // namespace dtrain::testing
