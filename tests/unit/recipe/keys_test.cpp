// SPDX-License-Identifier: Apache-2.0
//
// Keys that are unknown, misplaced, written twice, or another trainer's.
#include <gtest/gtest.h>

#include "tests/support/recipe_bench.h"

namespace dtrain::testing {
namespace {

TEST(RecipeKeys, AGoodRecipeIsAccepted) {
  const RecipeBench bench;
  EXPECT_EQ(bench.mistakes(good_recipe()), "accepted");
}

TEST(RecipeKeys, MisspeltInAHostTable) {
  const RecipeBench bench;
  EXPECT_EQ(
      bench.mistakes(good_recipe("", "learning_rte = 1e-3\n")),
      "r.toml:14:1: optimizer.learning_rte: unknown key; close to 'learning_rate': dtrain's name is optimizer.lr\n"
      "  hint: [optimizer] has: kind, groups, lr, weight_decay, beta1, beta2, epsilon");
  EXPECT_EQ(bench.mistakes(good_recipe("lanse = 4\n")),
            "r.toml:11:1: train.lanse: unknown key; did you mean 'train.lanes'?\n"
            "  hint: [train] has: steps, epochs, tokens, global_batch_size, micro_batch_size, lanes, max_grad_norm, "
            "reduction, non_finite, max_consecutive_skips, threads");
}

TEST(RecipeKeys, MisspeltInAComponentsTable) {
  const RecipeBench bench;
  EXPECT_EQ(bench.mistakes(good_recipe(), {"model.num_layer=3"}),
            "--set #1: model.num_layer: unknown key; did you mean 'model.num_layers'?\n"
            "  hint: [model] has: kind, num_layers, hidden_size, num_heads, dropout, tied_head");
  EXPECT_EQ(bench.mistakes(good_recipe("", "[[data.eval]]\nkind = \"text\"\npaths = \"a\"\npath = \"a\"\n")),
            "r.toml:16:1: data.eval.0.paths: unknown key; did you mean 'data.eval.0.path'?\n"
            "  hint: [data.eval.0] has: kind, weight, path");
}

TEST(RecipeKeys, MisplacedSaysWhereItBelongs) {
  const RecipeBench bench;
  EXPECT_EQ(bench.mistakes("lr = 1e-3\n" + good_recipe()),
            "r.toml:1:1: lr: unknown key; it belongs elsewhere: optimizer.lr\n"
            "  hint: a recipe has: schema, extends, run, model, loss, tokenizer, data, train, optimizer, lr_schedule, "
            "eval, checkpoint, log, parallel, comm, launch, plugins");
  EXPECT_EQ(bench.mistakes(good_recipe("num_heads = 4\n")),
            "r.toml:11:1: train.num_heads: unknown key; it belongs elsewhere: model.num_heads (with kind gpt)\n"
            "  hint: [train] has: steps, epochs, tokens, global_batch_size, micro_batch_size, lanes, max_grad_norm, "
            "reduction, non_finite, max_consecutive_skips, threads");
  EXPECT_EQ(bench.mistakes(good_recipe("", "momentum = 0.9\n")),
            "r.toml:14:1: optimizer.momentum: unknown key; the optimizer adamw has no such option; it is one of sgd\n"
            "  hint: [optimizer] has: kind, groups, lr, weight_decay, beta1, beta2, epsilon");
}

TEST(RecipeKeys, UnknownTable) {
  const RecipeBench bench;
  const auto text = bench.mistakes(good_recipe("", "[optimiser]\nlr = 1.0\n"));
  EXPECT_TRUE(text.starts_with("r.toml:14:2: optimiser: unknown key; did you mean 'optimizer'?")) << text;
}

TEST(RecipeKeys, WrittenTwice) {
  const RecipeBench bench;
  EXPECT_EQ(
      bench.mistakes(good_recipe("  steps = 20\n")),
      "r.toml:11:3: train.steps: this key is written twice; the first is at r.toml:8:1\n  hint: keep one of them");
  EXPECT_EQ(bench.mistakes(good_recipe("", "[train]\nlanes = 4\n")),
            "r.toml:14:1: train: this table is written twice; the first is at r.toml:7:2\n  hint: keep one of them");
  EXPECT_EQ(bench.mistakes(good_recipe(), {"train.steps=3", "train.steps=4"}),
            "--set #2: train.steps: this key is set twice; the first is --set #1\n  hint: keep one of them");
}

TEST(RecipeKeys, AllMistakesAtOnceInTheOrderOfTheFile) {
  const RecipeBench bench;
  EXPECT_EQ(
      bench.mistakes("schema = 1\n[model]\nkind = gpt\n[data]\nseq_len = 8.0\nseq_len = 9\n"
                     "train = { kind = \"synthetic\", samples = 99999999999999999999 }\n[train]\nsteps = 5\n"
                     "global_batch_size = 4\nmicro_batch_size = 3\n[optimizer]\nkind = \"sgd\"\nlr = -1\n",
                     {"log.evry=2"}),
      "r.toml:3:8: model.kind: cannot read the value: value: could not determine value type\n"
      "  hint: strings need quotes: kind = \"gpt\"\n"
      "r.toml:5:11: data.seq_len: expected an integer from 0 to 16777216 (tokens), found 8.0 (a real number)\n"
      "  hint: write 8\n"
      "r.toml:6:1: data.seq_len: this key is written twice; the first is at r.toml:5:1\n"
      "  hint: keep one of them\n"
      "r.toml:7:41: data.train.samples: 99999999999999999999 does not fit into 64 bits; expected an integer >= 1\n"
      "r.toml:10:21: train.global_batch_size: 4 is not a multiple of train.micro_batch_size = 3 (r.toml:11:20)\n"
      "  hint: nearest: global_batch_size 3 or 6, or micro_batch_size 2 or 4\n"
      "r.toml:14:6: optimizer.lr: -1.0 (a real number) is out of range; expected a real number > 0.0\n"
      "--set #1: log.evry: unknown key; did you mean 'log.every'?\n"
      "  hint: [log] has: every");
}

TEST(RecipeKeys, ForeignNamesAreTranslated) {
  const RecipeBench bench;
  const auto first_line = [&](const std::string& table, const std::string& key) {
    const auto text = bench.mistakes(good_recipe(), {table + "." + key + "=1"});
    return text.substr(0, text.find('\n'));
  };
  EXPECT_EQ(first_line("train", "per_device_train_batch_size"),
            "--set #1: train.per_device_train_batch_size: unknown key; dtrain's name is train.micro_batch_size; "
            "accumulation is derived: global_batch_size / micro_batch_size micro-batches a step, whatever the number "
            "of ranks");
  EXPECT_EQ(first_line("train", "learning_rate"),
            "--set #1: train.learning_rate: unknown key; dtrain's name is optimizer.lr");
  EXPECT_EQ(
      first_line("train", "max_steps"),
      "--set #1: train.max_steps: unknown key; dtrain's name is train.steps; steps are updates, not micro-batches");
  EXPECT_EQ(first_line("optimizer", "warmup_steps"),
            "--set #1: optimizer.warmup_steps: unknown key; dtrain's name is lr_schedule.warmup");
  EXPECT_EQ(first_line("model", "n_embd"),
            "--set #1: model.n_embd: unknown key; dtrain's name is model.hidden_size; with model kind = \"gpt\"");
  EXPECT_EQ(
      first_line("launch", "nproc_per_node"),
      "--set #1: launch.nproc_per_node: unknown key; dtrain's name is launch.ranks; or --ranks on the command line");
  EXPECT_EQ(
      first_line("run", "output_dir"),
      "--set #1: run.output_dir: unknown key; the run directory is not part of a recipe: dtrain run --run-dir DIR");
}

TEST(RecipeKeys, UnknownComponent) {
  const RecipeBench bench;
  EXPECT_EQ(bench.mistakes(good_recipe(), {"model.kind=gptt"}),
            "--set #1: model.kind: there is no model \"gptt\"; available: gpt, mlp; did you mean \"gpt\"?\n"
            "  hint: searched: /plugins");
  EXPECT_EQ(bench.mistakes(good_recipe(), {"parallel.strategy=zero"}),
            "--set #1: parallel.strategy: there is no strategy \"zero\"; available: ddp, single, auto\n"
            "  hint: searched: /plugins");
}

TEST(RecipeKeys, MissingKeys) {
  const RecipeBench bench;
  EXPECT_EQ(bench.mistakes("schema = 1\n[optimizer]\n"),
            "r.toml: model.kind: missing; expected the name of a model: gpt, mlp\n"
            "r.toml: data.train: missing; expected a table with kind = ..., or a list of them\n"
            "r.toml: train.global_batch_size: missing; expected an integer from 1 to 1000000000 (samples)\n"
            "r.toml: train.micro_batch_size: missing; expected an integer from 1 to 1000000000 (samples)\n"
            "r.toml: train.steps: missing; a run needs its length: one of steps, epochs, tokens\n"
            "  hint: for example steps = 500\n"
            "r.toml:2:1: optimizer.kind: missing; expected the name of an optimizer: adamw, sgd\n"
            "r.toml:2:1: optimizer.lr: missing; expected a real number > 0.0");
}

}  // namespace
}  // namespace dtrain::testing
