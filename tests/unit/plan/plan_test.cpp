// SPDX-License-Identifier: Apache-2.0
//
// From recipe to plan: batch arithmetic, defaults, hashes, the resolved recipe, JSON.
#include "core/plan/plan.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "core/plan/plan_fields.h"
#include "core/plan/plan_report.h"
#include "tests/support/recipe_bench.h"

namespace dtrain::testing {
namespace {

TEST(Plan, Defaults) {
  const RecipeBench bench;
  const auto plan = bench.plan(good_recipe());
  EXPECT_EQ(plan.name, "r");
  EXPECT_EQ(plan.loss.name, "cross_entropy");
  EXPECT_EQ(plan.schedule.name, "constant");
  EXPECT_EQ(plan.store.name, "local");
  EXPECT_EQ(plan.comm.name, "gloo");
  EXPECT_EQ(plan.strategy.name, "single");
  EXPECT_FALSE(plan.tokenizer.has_value());
  ASSERT_EQ(plan.metrics.size(), 1u);
  EXPECT_EQ(plan.metrics[0].name, "loss");
  EXPECT_EQ(plan.lanes, 16);
  EXPECT_EQ(plan.threads, 1);
  EXPECT_EQ(plan.model.plugin, "/plugins/all.so");
  EXPECT_EQ(plan.model.options.size(), 5u);
  EXPECT_EQ(plan.optimizer.options.count("lr"), 0u) << "lr is the host's";
}

TEST(Plan, StrategyFollowsTheRanks) {
  const RecipeBench bench;
  const auto plan = bench.plan(good_recipe(), {"launch.ranks=2"});
  EXPECT_EQ(plan.strategy.name, "ddp");
  EXPECT_EQ(plan.strategy.options.at("bucket"), OptionValue(26214400.0));
  EXPECT_EQ(origin(plan, "parallel.strategy"), "auto: 2 ranks");
  EXPECT_EQ(
      bench.mistakes(good_recipe(), {"launch.ranks=2", "parallel.strategy=single"}),
      "--set #2: parallel.strategy: \"single\" is for one rank, the run has 2\n  hint: write strategy = \"auto\"");
}

TEST(Plan, GlobalBatchIsAMultipleOfTheMicroBatch) {
  const RecipeBench bench;
  EXPECT_EQ(bench.mistakes(good_recipe(), {"train.global_batch_size=66"}),
            "--set #1: train.global_batch_size: 66 is not a multiple of train.micro_batch_size = 4 (r.toml:10:20)\n"
            "  hint: nearest: global_batch_size 64 or 68, or micro_batch_size 3 or 6");
  EXPECT_EQ(bench.mistakes(good_recipe(), {"train.global_batch_size=3"}),
            "--set #1: train.global_batch_size: 3 is not a multiple of train.micro_batch_size = 4 (r.toml:10:20)\n"
            "  hint: nearest: global_batch_size 4, or micro_batch_size 3");
}

TEST(Plan, RanksAreAtMostTheLanes) {
  const RecipeBench bench;
  EXPECT_EQ(
      bench.mistakes(good_recipe(), {"launch.ranks=20"}),
      "--set #1: launch.ranks: 20 ranks cannot share a step of 16 lanes (64 / 4 = 16 micro-batches in 16 lanes; a rank "
      "needs at least one); expected 1 to 16\n"
      "  hint: use 16 ranks and launch.spares = 4, a larger global_batch_size or a smaller micro_batch_size");
  EXPECT_EQ(
      bench.mistakes(good_recipe(), {"launch.ranks=5", "train.lanes=4"}),
      "--set #1: launch.ranks: 5 ranks cannot share a step of 4 lanes (64 / 4 = 16 micro-batches in 4 lanes; a rank "
      "needs at least one); expected 1 to 4\n"
      "  hint: use 4 ranks and launch.spares = 1, more train.lanes, a larger global_batch_size or a smaller "
      "micro_batch_size");
  EXPECT_EQ(bench.mistakes(good_recipe(), {"train.lanes=17"}),
            "--set #1: train.lanes: is 17, but a step has 16 micro-batches (64 / 4); expected 1 to 16");
  EXPECT_EQ(bench.mistakes(good_recipe(), {"parallel.dp=3", "launch.ranks=2"}),
            "--set #1: parallel.dp: is 3, but the run has 2 ranks (--set #2)\n"
            "  hint: write dp = \"auto\", or launch.ranks = 3");
  EXPECT_EQ(bench.mistakes(good_recipe(), {"parallel.dp=2", "launch.ranks=2", "train.lanes=auto"}), "accepted");
}

TEST(Plan, ExactlyOneLength) {
  const RecipeBench bench;
  EXPECT_EQ(bench.mistakes(good_recipe(), {"train.epochs=2", "train.tokens=100"}),
            "--set #1: train.epochs: the length of the run is given by train.steps = 10 (r.toml:8:1) already\n"
            "  hint: keep one of steps, epochs, tokens\n"
            "--set #2: train.tokens: the length of the run is given by train.steps = 10 (r.toml:8:1) already\n"
            "  hint: keep one of steps, epochs, tokens");
  EXPECT_EQ(bench.mistakes(
                "schema = 1\n[model]\nkind = \"mlp\"\n[data]\ntrain = { kind = \"synthetic\" }\n[train]\ntokens = 5\n"
                "global_batch_size = 1\nmicro_batch_size = 1\n[optimizer]\nkind = \"sgd\"\nlr = 1.0\n"),
            "r.toml:7:10: train.tokens: a length in tokens needs data.seq_len, which is 0\n"
            "  hint: set data.seq_len, or give steps or epochs");
}

TEST(Plan, Evaluation) {
  const RecipeBench bench;
  EXPECT_EQ(bench.mistakes(good_recipe(), {"eval.every=5", "checkpoint.keep_best=1"}),
            "--set #1: eval.every: is 5, but there is nothing to evaluate on\n"
            "  hint: set data.eval or data.eval_fraction\n"
            "--set #2: checkpoint.keep_best: is 1, but there is nothing to evaluate on\n"
            "  hint: set data.eval or data.eval_fraction");
  EXPECT_EQ(bench.mistakes(good_recipe(), {"data.eval_fraction=0.1", "data.eval={ kind = \"text\", path = \"x\" }"}),
            "--set #1: data.eval_fraction: the evaluation set is given by data.eval (--set #2) already\n"
            "  hint: keep one of eval and eval_fraction");
  EXPECT_EQ(
      bench.mistakes(good_recipe(), {"data.eval_fraction=0.1", "checkpoint.keep_best=1", "checkpoint.best_metric=acc"}),
      "--set #3: checkpoint.best_metric: expected one of the metrics of eval.metrics (loss), found \"acc\"");
}

TEST(Plan, NotesThatWarmupIsLongerThanTheRun) {
  const RecipeBench bench;
  const auto plan = bench.plan(good_recipe(), {"lr_schedule.warmup=50"});
  ASSERT_EQ(plan.notes.size(), 1u);
  EXPECT_EQ(plan.notes[0],
            "lr_schedule.warmup = 50 is not shorter than the run of 10 steps: lr does not reach its full value");
}

TEST(Plan, HashesCoverWhatTheyShould) {
  const RecipeBench bench;
  const auto base = bench.plan(good_recipe());
  EXPECT_EQ(base.identity.size(), 64u);
  const auto changed = [&](const std::string& set) {
    const auto plan = bench.plan(good_recipe(), {set});
    return std::pair(plan.identity != base.identity, plan.trajectory != base.trajectory);
  };
  using Pair = std::pair<bool, bool>;
  const Pair identity(true, false), trajectory(false, true), neither(false, false);
  for (const auto* set :
       {"run.seed=2", "model.num_layers=5", "model.kind=mlp", "data.seq_len=64", "data.shuffle=false",
        "data.train.path=/x", "data.train.weight=2", "data.eval_fraction=0.1", "train.micro_batch_size=8",
        "train.global_batch_size=32", "train.lanes=4", "train.threads=2", "tokenizer.kind=bytes", "loss.kind=mse"}) {
    const auto plan = bench.plan(good_recipe(), {set});
    EXPECT_NE(plan.identity, base.identity) << set;
  }
  EXPECT_EQ(changed("train.threads=2"), identity);
  for (const auto* set : {"optimizer.lr=1", "optimizer.weight_decay=0.1", "train.steps=11", "train.max_grad_norm=1",
                          "lr_schedule.kind=cosine", "lr_schedule.warmup=2", "model.dropout=0.5", "optimizer.beta1=0.5",
                          "optimizer.groups=[{ match = \"a\" }]", "data.eval={ kind = \"text\", path = \"e\" }"})
    EXPECT_EQ(changed(set), trajectory) << set;
  for (const auto* set : {"run.name=x", "launch.ranks=3", "launch.grace=1 min", "log.every=5", "checkpoint.every=5",
                          "parallel.dp=1", "comm.interface=lo", "comm.timeout=9", "data.loaders=4",
                          "eval.metrics=[\"loss\", \"accuracy\"]", "plugins.paths=x"})
    EXPECT_EQ(changed(set), neither) << set;
}

TEST(Plan, NativeReductionMakesTheBackendPartOfTheRun) {
  const RecipeBench bench;
  const auto native = bench.plan(good_recipe(), {"train.reduction=native"});
  bench.write("c.toml", good_recipe());
  auto& components = const_cast<FakeComponents&>(bench.components);
  components.add("comm", "other", {});
  EXPECT_NE(bench.plan(good_recipe(), {"train.reduction=native", "comm.kind=other"}).identity, native.identity);
  EXPECT_EQ(bench.plan(good_recipe(), {"comm.kind=other"}).identity, bench.plan(good_recipe()).identity);
}

TEST(Plan, TheResolvedRecipeIsAFixpoint) {
  const RecipeBench bench;
  const auto plan = bench.plan(
      good_recipe(
          "max_grad_norm = 0.1\n",
          "groups = [{ match = \"*norm*\", weight_decay = 0 }, { match = \"b\", lr_scale = 3, frozen = true }]\n"
          "[tokenizer]\nkind = \"bytes\"\n[eval]\nevery = 5\nmetrics = [\"perplexity\", \"loss\"]\n"
          "[[data.eval]]\nkind = \"text\"\npath = [\"x \\\"y\\\"\", \"ä\"]\nweight = 0.3\n[plugins]\npaths = [\"p\"]\n"
          "[run]\nseed = 9000000000000000000\nname = \"tab\\there\"\n"),
      {"launch.ranks=3", "data.eval.0.weight=1e-300"});
  bench.write("other/resolved.toml", plan.recipe);
  const auto again = bench.plan({"other/resolved.toml", {}, {}, {}, {}, nullptr});
  EXPECT_EQ(again.recipe, plan.recipe);
  EXPECT_EQ(again.identity, plan.identity);
  EXPECT_EQ(again.trajectory, plan.trajectory);
  EXPECT_TRUE(compare_fields(plan.fields, again.fields).empty());
  auto same = again;
  same.fields = plan.fields;  // the origins differ
  same.notes = plan.notes;
  EXPECT_EQ(to_json(same), to_json(plan));
  EXPECT_EQ(again.seed, 9000000000000000000u);
  EXPECT_EQ(again.groups[1].lr_scale, 3.0);
  EXPECT_EQ(again.groups[0].weight_decay, 0.0);
  EXPECT_EQ(again.groups[1].weight_decay, std::nullopt);
}

TEST(Plan, JsonKeepsEveryBit) {
  const RecipeBench bench;
  auto plan =
      bench.plan(good_recipe(), {"tokenizer.kind=bytes", "optimizer.groups=[{ match = \"a\", weight_decay = 0.1 }]",
                                 "data.eval={ kind = \"text\", path = [\"a\", \"b ä\"] }"});
  plan.seed = std::numeric_limits<std::uint64_t>::max();
  plan.lr = 5e-324;
  plan.weight_decay = -0.0;
  plan.model.options["reals"] = std::vector<double>{0.1, 1.0, 1e300, std::numeric_limits<double>::infinity(), -0.0};
  plan.model.options["whole"] = 1.0;
  plan.model.options["empty"] = std::vector<std::string>{};
  const auto text = to_json(plan);
  const auto back = plan_from_json(text);
  EXPECT_EQ(to_json(back), text);
  EXPECT_EQ(back.seed, plan.seed);
  EXPECT_EQ(std::bit_cast<std::uint64_t>(back.lr), std::bit_cast<std::uint64_t>(plan.lr));
  EXPECT_EQ(std::bit_cast<std::uint64_t>(back.weight_decay), std::bit_cast<std::uint64_t>(-0.0));
  EXPECT_EQ(back.model.options, plan.model.options);
  EXPECT_TRUE(std::holds_alternative<double>(back.model.options.at("whole")));
  EXPECT_EQ(back.recipe, plan.recipe);
  EXPECT_EQ(back.fields.size(), plan.fields.size());
  EXPECT_EQ(back.tokenizer->name, "bytes");
  EXPECT_EQ(back.groups[0].weight_decay, 0.1);
}

TEST(Plan, SummaryShowsTheArithmetic) {
  const RecipeBench bench;
  const auto lines = plan_summary(bench.plan(good_recipe(), {"launch.ranks=3", "launch.spares=1"}));
  ASSERT_GE(lines.size(), 5u);
  EXPECT_EQ(lines[0], "mesh      pp 1 x dp 3 x tp 1: 3 ranks and 1 spare");
  EXPECT_EQ(
      lines[1],
      "batch     64 samples a step / 4 a micro-batch = 16 micro-batches a step; x 128 tokens = 8192 tokens a step");
  EXPECT_EQ(
      lines[2],
      "lanes     16 lanes of 1 micro-batches; ranks own 6, 5, 5 lanes and accumulate 5 to 6 micro-batches a step");
  EXPECT_EQ(lines[3], "length    10 steps = 640 samples = 81920 tokens");
  EXPECT_EQ(lines[4], "memory    4 gradient buffers a rank = ceil(log2(6 lanes)) + 1");
}

TEST(Plan, MissingStrategyPlugin) {
  const RecipeBench bench;
  const_cast<FakeComponents&>(bench.components).remove("strategy", "ddp");
  EXPECT_EQ(bench.mistakes(good_recipe(), {"launch.ranks=2"}),
            "r.toml: parallel.strategy: there is no strategy \"ddp\"\n  hint: searched: /plugins");
}

}  // namespace
}  // namespace dtrain::testing
