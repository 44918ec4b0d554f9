// SPDX-License-Identifier: Apache-2.0
//
// Types, ranges, units, and that files and --set read values alike.
#include <gtest/gtest.h>

#include "tests/support/recipe_bench.h"

namespace dtrain::testing {
namespace {

class RecipeValues : public ::testing::Test {
 protected:
  // The message about one value, from the file and from --set: they are the same but for the place.
  std::string in_file(const std::string& key, const std::string& value) {
    const auto dot = key.rfind('.');
    auto text = good_recipe();
    const auto table = "[" + key.substr(0, dot) + "]\n";
    const auto at = text.find(table);
    const auto line = key.substr(dot + 1) + " = " + value + "\n";
    const auto old = text.find("\n" + key.substr(dot + 1) + " = ");
    if (old != std::string::npos) text.erase(old + 1, text.find('\n', old + 1) - old);
    text = at == std::string::npos ? text + table + line : text.insert(at + table.size(), line);
    return without_place(bench.mistakes(text));
  }
  std::string by_set(const std::string& key, const std::string& value) {
    return without_place(bench.mistakes(good_recipe(), {key + "=" + value}));
  }
  static std::string without_place(std::string text) {
    text = text.substr(0, text.find('\n'));
    const auto colon = text.find(": ");
    return colon == std::string::npos ? text : text.substr(colon + 2);
  }

  RecipeBench bench;
};

TEST_F(RecipeValues, WrongTypeIsNeverTheDefault) {
  const std::string micro = "train.micro_batch_size: expected an integer from 1 to 1000000000 (samples), found ";
  EXPECT_EQ(in_file("train.micro_batch_size", "8.0"), micro + "8.0 (a real number)");
  EXPECT_EQ(by_set("train.micro_batch_size", "8.0"), micro + "8.0 (a real number)");
  EXPECT_EQ(in_file("train.micro_batch_size", "\"8\""), micro + "\"8\" (a string)");
  EXPECT_EQ(by_set("train.micro_batch_size", "eight"), micro + "\"eight\" (a string)");
  EXPECT_EQ(in_file("train.micro_batch_size", "[8]"), micro + "a list of 1");
  EXPECT_EQ(in_file("train.micro_batch_size", "2024-01-01"), micro + "a date or time");
  EXPECT_EQ(in_file("model.tied_head", "\"false\""),
            "model.tied_head: expected true or false, found \"false\" (a string)");
  EXPECT_EQ(by_set("model.tied_head", "no"), "model.tied_head: expected true or false, found \"no\" (a string)");
  EXPECT_EQ(in_file("run.name", "3"), "run.name: expected a string, found 3 (an integer)");
  EXPECT_EQ(in_file("optimizer.lr", "\"5e-5\""),
            "optimizer.lr: expected a real number > 0.0, found \"5e-5\" (a string)");
  EXPECT_EQ(in_file("train.reduction", "\"cannonical\""),
            "train.reduction: expected one of \"canonical\", \"native\", found \"cannonical\"");
}

TEST_F(RecipeValues, HintsSayWhatToWrite) {
  EXPECT_EQ(bench.mistakes(good_recipe("threads = \"2\"\n")),
            "r.toml:11:11: train.threads: expected an integer from 1 to 1024, found \"2\" (a string)\n"
            "  hint: write 2 without quotes");
  EXPECT_EQ(bench.mistakes(good_recipe("reduction = \"cannonical\"\n")),
            "r.toml:11:13: train.reduction: expected one of \"canonical\", \"native\", found \"cannonical\"\n"
            "  hint: did you mean \"canonical\"?");
  EXPECT_EQ(bench.mistakes("schema = 1\nmodel = \"gpt\"\n").substr(0, 112),
            "r.toml:2:9: model: expected a table, found \"gpt\" (a string)\n"
            "  hint: write [model] and below it kind = \"gpt\"");
  EXPECT_EQ(bench.mistakes(good_recipe("", "[loss]\nkind = cross_entropy\n[eval]\nmetrics = True\n")),
            "r.toml:15:8: loss.kind: cannot read the value: value: could not determine value type\n"
            "  hint: strings need quotes: kind = \"cross_entropy\"\n"
            "r.toml:17:12: eval.metrics: cannot read the value: boolean: expected 'true', saw 'T'\n"
            "  hint: write true");
}

TEST_F(RecipeValues, OutOfRange) {
  EXPECT_EQ(in_file("optimizer.lr", "nan"),
            "optimizer.lr: nan (a real number) is out of range; expected a real number > 0.0");
  EXPECT_EQ(by_set("optimizer.lr", "inf"),
            "optimizer.lr: inf (a real number) is out of range; expected a real number > 0.0");
  EXPECT_EQ(by_set("optimizer.lr", "-1"),
            "optimizer.lr: -1.0 (a real number) is out of range; expected a real number > 0.0");
  EXPECT_EQ(by_set("optimizer.lr", "0"),
            "optimizer.lr: 0.0 (a real number) is out of range; expected a real number > 0.0");
  EXPECT_EQ(by_set("optimizer.lr", "1e400"),
            "optimizer.lr: 1e400 does not fit into 64 bits; expected a real number > 0.0");
  EXPECT_EQ(by_set("train.max_grad_norm", "inf"),
            "train.max_grad_norm: inf (a real number) is out of range; expected a real number >= 0.0");
  for (const auto* value : {"0", "-4"}) {
    EXPECT_EQ(in_file("train.micro_batch_size", value),
              "train.micro_batch_size: " + std::string(value) +
                  " (an integer) is out of range; expected an integer from 1 to 1000000000 (samples)");
  }
  for (const auto* value : {"100000000000000000000", "9223372036854775808", "-9223372036854775809"}) {
    const auto expected = "train.steps: " + std::string(value) +
                          " does not fit into 64 bits; expected an integer from 1 to 1000000000000000";
    EXPECT_EQ(in_file("train.steps", value), expected);
    EXPECT_EQ(by_set("train.steps", value), expected);
  }
  EXPECT_EQ(
      by_set("train.steps", "9223372036854775807"),
      "train.steps: 9223372036854775807 (an integer) is out of range; expected an integer from 1 to 1000000000000000");
  EXPECT_EQ(by_set("model.dropout", "1.5"),
            "model.dropout: 1.5 (a real number) is out of range; expected a real number from 0.0 to 0.99");
}

TEST_F(RecipeValues, WholeNumbersAreRealNumbers) {
  const auto plan = bench.plan(good_recipe("max_grad_norm = 1\n"), {"optimizer.lr=1", "optimizer.weight_decay=0"});
  EXPECT_EQ(plan.lr, 1.0);
  EXPECT_EQ(plan.max_grad_norm, 1.0);
  EXPECT_EQ(*field(plan, "optimizer.lr"), OptionValue(1.0));
  EXPECT_NE(plan.recipe.find("\nlr = 1.0\nweight_decay = 0.0\n"), std::string::npos) << plan.recipe;
  EXPECT_NE(plan.recipe.find("\nmax_grad_norm = 1.0\n"), std::string::npos) << plan.recipe;
}

TEST_F(RecipeValues, FileAndSetReadTheSameNumber) {
  for (const auto* text : {"5e-5", "0.1", "1e-3", "3.0000000000000004"}) {
    auto recipe = good_recipe();
    recipe.replace(recipe.find("1e-3"), 4, text);
    const auto file = bench.plan(recipe);
    const auto set = bench.plan(good_recipe(), {std::string("optimizer.lr=") + text});
    EXPECT_EQ(std::bit_cast<std::uint64_t>(file.lr), std::bit_cast<std::uint64_t>(set.lr)) << text;
    EXPECT_EQ(file.identity, set.identity);
    EXPECT_EQ(file.trajectory, set.trajectory);
  }
}

TEST_F(RecipeValues, SetNeedsNoInnerQuotes) {
  const auto plan = bench.plan(good_recipe(),
                               {"run.name=a b", "model.kind=mlp", "model.hidden_sizes=[3, 4]", "train.reduction=native",
                                "eval.metrics=[\"loss\", \"accuracy\"]", "data.train.path=[\"x\", \"y\"]"});
  EXPECT_EQ(plan.name, "a b");
  EXPECT_EQ(plan.model.name, "mlp");
  EXPECT_EQ(plan.model.options.at("hidden_sizes"), OptionValue(std::vector<std::int64_t>{3, 4}));
  EXPECT_EQ(plan.reduction, Reduction::native);
  EXPECT_EQ(plan.metrics.size(), 2u);
  EXPECT_EQ(bench.plan(good_recipe(), {"run.name=true"}).name, "true");
  EXPECT_EQ(bench.plan(good_recipe(), {"run.name='1'"}).name, "1");
  EXPECT_EQ(bench.plan(good_recipe(), {"run.name="}).name, "r");
}

TEST_F(RecipeValues, OneValueStandsForAListOfOne) {
  EXPECT_EQ(bench.plan(good_recipe(), {"model.kind=mlp", "model.hidden_sizes=7"}).model.options.at("hidden_sizes"),
            OptionValue(std::vector<std::int64_t>{7}));
}

TEST_F(RecipeValues, Units) {
  const auto seconds = [&](const std::string& text) {
    return bench.plan(good_recipe(), {"launch.grace=" + text}).grace_s;
  };
  EXPECT_EQ(seconds("45"), 45.0);
  EXPECT_EQ(seconds("30 s"), 30.0);
  EXPECT_EQ(seconds("1 min"), 60.0);
  EXPECT_EQ(seconds("250ms"), 0.25);
  const auto synthetic = [&](const std::string& cache) {
    auto text = good_recipe();
    text.replace(text.find("kind = \"text\", path = \"texts\""), 29, "kind = \"synthetic\", cache = " + cache + " ");
    return text;
  };
  EXPECT_EQ(bench.plan(synthetic("\"25 MiB\"")).train[0].component.options.at("cache"),
            OptionValue(std::int64_t{26214400}));
  EXPECT_EQ(bench.mistakes(synthetic("\"1.5 B\"")),
            "r.toml:6:40: data.train.cache: expected an integer >= 0 (bytes), found \"1.5 B\" = 1.5 bytes");
  EXPECT_EQ(bench.mistakes(synthetic("\"3 min\"")),
            "r.toml:6:40: data.train.cache: expected an integer >= 0 (bytes), found \"3 min\" (a string)\n"
            "  hint: units: bytes, B, kB, MB, GB, TB, KiB, MiB, GiB, TiB");
  EXPECT_EQ(by_set("launch.grace", "-1 s"),
            "launch.grace: -1.0 (a real number) is out of range; expected a real number > 0.0 (s)");
}

TEST_F(RecipeValues, ListsOfTables) {
  EXPECT_EQ(
      bench.mistakes(good_recipe("", "groups = [{ match = \"*norm*\", weight_decy = 0.0 }, 3]\n")),
      "r.toml:14:31: optimizer.groups.0.weight_decy: unknown key; did you mean 'optimizer.groups.0.weight_decay'?\n"
      "  hint: [optimizer.groups.0] has: match, lr_scale, weight_decay, frozen\n"
      "r.toml:14:52: optimizer.groups.1: expected a table, or a list of them, found 3 (an integer)");
  EXPECT_EQ(bench.mistakes(good_recipe("", "[eval]\nmetrics = [\"loss\", \"los\", \"loss\"]\n")),
            "r.toml:15:20: eval.metrics.1.kind: there is no metric \"los\"; available: accuracy, loss, "
            "perplexity; did you mean \"loss\"?\n  hint: searched: /plugins\n"
            "r.toml:15:27: eval.metrics: \"loss\" is listed twice");
}

TEST_F(RecipeValues, SetPicksElementsByNumber) {
  auto text = good_recipe();
  text.replace(text.find("{ kind"), 37, "[{ kind = \"text\", path = \"a\" }, { kind = \"text\", path = \"b\" }]");
  const auto plan = bench.plan(text, {"data.train.1.weight=3"});
  EXPECT_EQ(plan.train[0].weight, 1.0);
  EXPECT_EQ(plan.train[1].weight, 3.0);
  EXPECT_EQ(bench.mistakes(text, {"data.train.weight=3"}),
            "--set #1: data.train.weight: data.train is not a table but a list of 2\n"
            "  hint: pick an element by its number from 0: data.train.0");
  EXPECT_EQ(bench.mistakes(text, {"train.steps.x=3"}),
            "--set #1: train.steps.x: train.steps is not a table but 10 (an integer)");
  EXPECT_EQ(bench.mistakes(text, {"train.steps"}),
            "--set #1: expected KEY=VALUE, found 'train.steps'\n  hint: for example --set train.steps=30");
}

}  // namespace
}  // namespace dtrain::testing
