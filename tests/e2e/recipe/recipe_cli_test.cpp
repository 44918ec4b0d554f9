// SPDX-License-Identifier: Apache-2.0
//
// What the command line says about recipes: messages, exit codes, and how fast.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include "tests/e2e/recipe/command.h"

namespace dtrain::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

const std::string kPlugin = " --plugin '" DTRAIN_COMPONENTS "'";

std::string recipe(const std::string& end = "") {
  return "schema = 1\n[model]\nkind = \"net\"\n[data]\ntrain = { kind = \"file\", path = \"x.bin\" }\n[train]\nsteps = "
         "10\n"
         "global_batch_size = 64\nmicro_batch_size = 4\n[optimizer]\nkind = \"plain\"\nlr = 1e-3\n" +
         end;
}

class RecipeCli : public ::testing::Test {
 protected:
  Command command;
};

TEST_F(RecipeCli, PlanShowsValuesOriginsAndArithmetic) {
  command.write("r.toml", recipe());
  const auto result = command.dtrain("plan r.toml --ranks 3 --set model.layers=3" + kPlugin);
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(result.err, "");
  EXPECT_THAT(result.out, HasSubstr("\nmodel.layers "));
  EXPECT_THAT(result.out, HasSubstr("# --set #1\n"));
  EXPECT_THAT(result.out, HasSubstr("# r.toml:12:6\n"));
  EXPECT_THAT(result.out, HasSubstr("\nlanes     16 lanes of 1 micro-batches; ranks own 6, 5, 5 lanes"));
  EXPECT_THAT(result.out, HasSubstr("\nmemory    4 gradient buffers a rank"));
}

TEST_F(RecipeCli, PlanAsJsonIsOneObject) {
  command.write("r.toml", recipe());
  const auto result = command.dtrain("plan r.toml --json" + kPlugin);
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, StartsWith("{\"batch\":{\"global_batch_size\":64,\"lanes\":16,"));
  EXPECT_EQ(std::count(result.out.begin(), result.out.end(), '\n'), 1);
}

TEST_F(RecipeCli, EveryMistakeIsPrintedAndTheExitCodeIsTwo) {
  command.write("r.toml", recipe("learning_rte = 1e-3\n[train.x]\n"));
  const auto result = command.dtrain("plan r.toml --set model.layrs=3" + kPlugin);
  EXPECT_EQ(result.code, 2);
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(
      result.err,
      "dtrain: error: r.toml:13:1: optimizer.learning_rte: unknown key; close to 'learning_rate': dtrain's name is "
      "optimizer.lr\n"
      "  hint: [optimizer] has: kind, groups, lr, weight_decay\n"
      "dtrain: error: r.toml:14:8: train.x: unknown key\n"
      "  hint: [train] has: steps, epochs, tokens, global_batch_size, micro_batch_size, lanes, max_grad_norm, "
      "reduction, non_finite, max_consecutive_skips, threads\n"
      "dtrain: error: --set #1: model.layrs: unknown key; did you mean 'model.layers'?\n"
      "  hint: [model] has: kind, layers, dropout\n");
}

TEST_F(RecipeCli, RecipeOnStandardInput) {
  EXPECT_EQ(command.dtrain("plan -" + kPlugin, recipe()).code, 0);
  const auto bad = command.dtrain("plan -" + kPlugin, recipe("lr = 2\n"));
  EXPECT_EQ(bad.code, 2);
  EXPECT_EQ(bad.err,
            "dtrain: error: stdin:13:1: optimizer.lr: this key is written twice; the first is at stdin:12:1\n"
            "  hint: keep one of them\n");
}

TEST_F(RecipeCli, PathsWithBlanksAndLettersBeyondAscii) {
  command.write("a b-ä試/r.toml", recipe("[plugins]\nfiles = \"p q.so\"\n"));
  std::filesystem::copy(DTRAIN_COMPONENTS, command.folder() + "/a b-ä試/p q.so");
  const auto result = command.dtrain("plan 'a b-ä試/r.toml' --json");
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr(command.folder() + "/a b-ä試/x.bin"));
}

TEST_F(RecipeCli, MissingFilesSayWhich) {
  const auto recipe_result = command.dtrain("plan 'no such.toml'" + kPlugin);
  EXPECT_EQ(recipe_result.code, 2);
  EXPECT_EQ(recipe_result.err, "dtrain: error: cannot read no such.toml: No such file or directory\n");
  command.write("r.toml", recipe());
  const auto plugin = command.dtrain("plan r.toml --plugin nowhere.so");
  EXPECT_EQ(plugin.code, 2);
  EXPECT_THAT(plugin.err, HasSubstr(command.folder() + "/nowhere.so"));
  EXPECT_THAT(plugin.err, HasSubstr("No such file or directory"));
}

TEST_F(RecipeCli, SchemaIsPrinted) {
  const auto result = command.dtrain("recipe schema" + kPlugin);
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("\"const\": \"net\""));
}

TEST_F(RecipeCli, FormatsInPlaceAndChecks) {
  command.write("r.toml", "schema=1\n[model]\nkind='net'\n");
  const auto check = command.dtrain("recipe fmt r.toml --check");
  EXPECT_EQ(check.code, 1);
  EXPECT_EQ(check.err, "r.toml: not formatted\n  hint: dtrain recipe fmt r.toml\n");
  EXPECT_EQ(command.read("r.toml"), "schema=1\n[model]\nkind='net'\n");
  EXPECT_EQ(command.dtrain("recipe fmt r.toml").code, 0);
  EXPECT_EQ(command.read("r.toml"), "schema = 1\n\n[model]\nkind = 'net'\n");
  EXPECT_EQ(command.dtrain("recipe fmt r.toml --check").code, 0);
  EXPECT_EQ(command.dtrain("recipe fmt -", "a=1\n").out, "a = 1\n");
  const auto bad = command.dtrain("recipe fmt -", "a=\n");
  EXPECT_EQ(bad.code, 2);
  EXPECT_THAT(bad.err, StartsWith("dtrain: error: stdin:1:"));
  EXPECT_EQ(command.dtrain("recipe fmt nowhere.toml").err,
            "dtrain: error: cannot read nowhere.toml: No such file or directory\n");
}

TEST_F(RecipeCli, DiffNamesWhatAChangeMeans) {
  command.write("a.toml", recipe());
  command.write(
      "b.toml",
      "schema = 1\nextends = \"a.toml\"\n[run]\nseed = 3\nname = \"a\"\n[optimizer]\nlr = 2e-3\n[log]\nevery = 5\n");
  const auto result = command.dtrain("recipe diff a.toml b.toml" + kPlugin);
  EXPECT_EQ(result.code, 1) << result.err;
  EXPECT_EQ(
      result.out,
      "run.seed: 0 -> 3  # identity\noptimizer.lr: 0.001 -> 0.002  # trajectory\nlog.every: 1 -> 5  # operational\n");
  EXPECT_EQ(command.dtrain("recipe diff a.toml a.toml" + kPlugin).code, 0);
}

TEST_F(RecipeCli, Usage) {
  EXPECT_EQ(command.dtrain("--version").out, "dtrain " DTRAIN_VERSION "\n");
  const auto help = command.dtrain("--help");
  EXPECT_EQ(help.code, 0);
  EXPECT_THAT(help.out, HasSubstr("Exit codes: 0 done;"));
  const auto verb = command.dtrain("plna r.toml");
  EXPECT_EQ(verb.code, 2);
  EXPECT_THAT(verb.err,
              StartsWith("dtrain: error: dtrain: there is no verb 'plna'; did you mean 'plan'?\n  hint: verbs: "));
  EXPECT_THAT(command.dtrain("recipe shcema").err,
              StartsWith("dtrain: error: dtrain recipe: there is no verb 'shcema'; did you mean 'schema'?\n"));
  const auto option = command.dtrain("plan r.toml --rank 2");
  EXPECT_EQ(option.code, 2);
  EXPECT_THAT(option.err, HasSubstr("--rank"));
  EXPECT_THAT(option.err, HasSubstr("hint: dtrain plan --help"));
  EXPECT_EQ(command.dtrain("plan").code, 2);
  EXPECT_EQ(command.dtrain("plan r.toml --ranks two").code, 2);
  EXPECT_EQ(command.dtrain("").code, 2);
}

// Processor time rather than time on the clock: the machine may be busy.
double child_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_CHILDREN, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

TEST_F(RecipeCli, AnswersInMilliseconds) {
#ifndef NDEBUG
  GTEST_SKIP() << "a debug build";
#endif
  command.write("r.toml", recipe());
  for (const auto& arguments : {std::string("--help"), "plan r.toml" + kPlugin, "plan r.toml --set lr=1" + kPlugin}) {
    constexpr int kTimes = 10;
    const auto before = child_seconds();
    for (int i = 0; i < kTimes; ++i) command.dtrain(arguments);
    EXPECT_LT((child_seconds() - before) / kTimes, 0.05) << arguments;
  }
}

}  // namespace
}  // namespace dtrain::testing
