// SPDX-License-Identifier: Apache-2.0
#include "core/plan/batch_check.h"

#include <algorithm>

#include "core/plan/lanes.h"
#include "core/recipe/toml_text.h"

namespace dtrain {
namespace {

std::string number(std::int64_t value) {
  return std::to_string(value);
}

class Together {
 public:
  Together(const CheckedRecipe& recipe, MistakeList& mistakes, std::vector<std::string>& notes)
      : recipe_(recipe), mistakes_(mistakes), notes_(notes) {}

  std::int64_t check() {
    length();
    evaluation();
    warmup();
    const auto lanes = batch();
    if (lanes > 0) ranks(lanes);
    return lanes;
  }

 private:
  const CheckedOption* option(std::string_view table, std::string_view name) const {
    return recipe_.section(table).table.find(name);
  }

  // 0 for a value that is missing or in error.
  std::int64_t integer(std::string_view table, std::string_view name) const {
    const auto* found = option(table, name);
    return found == nullptr ? 0 : std::get<std::int64_t>(found->value);
  }

  Place place(std::string_view table, std::string_view name) const {
    const auto* found = option(table, name);
    return found != nullptr && found->place.known() ? found->place : recipe_.section(table).table.place;
  }

  void length() {
    std::vector<std::string> given;
    for (const auto* name : {"steps", "epochs", "tokens"}) {
      if (option("train", name) != nullptr) given.emplace_back(name);
    }
    // A length that is given but in error has been reported.
    if (given.empty() && !mistakes_.mentions("train.steps") && !mistakes_.mentions("train.epochs") &&
        !mistakes_.mentions("train.tokens")) {
      mistakes_.add(recipe_.section("train").table.place, "train.steps",
                    "missing; a run needs its length: one of steps, epochs, tokens", "for example steps = 500");
    }
    for (std::size_t i = 1; i < given.size(); ++i) {
      mistakes_.add(place("train", given[i]), "train." + given[i],
                    "the length of the run is given by train." + given[0] + " = " + number(integer("train", given[0])) +
                        " (" + place("train", given[0]).text() + ") already",
                    "keep one of steps, epochs, tokens");
    }
    if (option("train", "tokens") != nullptr && option("data", "seq_len") != nullptr &&
        integer("data", "seq_len") == 0) {
      mistakes_.add(place("train", "tokens"), "train.tokens", "a length in tokens needs data.seq_len, which is 0",
                    "set data.seq_len, or give steps or epochs");
    }
  }

  void evaluation() {
    const auto& list = recipe_.list("data", "eval");
    const auto* fraction = option("data", "eval_fraction");
    if (fraction == nullptr || mistakes_.mentions("data.eval")) return;
    const bool by_fraction = std::get<double>(fraction->value) > 0;
    if (by_fraction && !list.elements.empty()) {
      mistakes_.add(fraction->place, "data.eval_fraction",
                    "the evaluation set is given by data.eval (" + list.place.text() + ") already",
                    "keep one of eval and eval_fraction");
    }
    const bool any = by_fraction || !list.elements.empty();
    for (const auto& [table, name] : {std::pair("eval", "every"), std::pair("checkpoint", "keep_best")}) {
      if (!any && integer(table, name) > 0) {
        mistakes_.add(place(table, name), std::string(table) + "." + name,
                      "is " + number(integer(table, name)) + ", but there is nothing to evaluate on",
                      "set data.eval or data.eval_fraction");
      }
    }
    best_metric();
  }

  void best_metric() {
    const auto* best = option("checkpoint", "best_metric");
    if (best == nullptr || (integer("checkpoint", "keep_best") == 0 && !best->given())) return;
    std::string names;
    for (const auto& metric : recipe_.list("eval", "metrics").elements) {
      if (metric.component == std::get<std::string>(best->value)) return;
      names += (names.empty() ? "" : ", ") + metric.component;
    }
    mistakes_.add(place("checkpoint", "best_metric"), "checkpoint.best_metric",
                  "expected one of the metrics of eval.metrics (" + names + "), found " + toml_text(best->value));
  }

  void warmup() {
    const auto steps = integer("train", "steps");
    const auto updates = integer("lr_schedule", "warmup");
    if (steps > 0 && updates >= steps) {
      notes_.push_back("lr_schedule.warmup = " + number(updates) + " is not shorter than the run of " + number(steps) +
                       " steps: lr does not reach its full value");
    }
  }

  std::int64_t batch() {
    const auto global = integer("train", "global_batch_size");
    const auto micro = integer("train", "micro_batch_size");
    const auto* lanes = option("train", "lanes");
    if (global <= 0 || micro <= 0 || lanes == nullptr) return 0;
    if (global % micro != 0) {
      not_a_multiple(global, micro);
      return 0;
    }
    const auto micro_batches = global / micro;
    const auto wanted = std::get<std::int64_t>(lanes->value);
    if (wanted > micro_batches) {
      mistakes_.add(lanes->place, "train.lanes",
                    "is " + number(wanted) + ", but a step has " + number(micro_batches) + " micro-batches (" +
                        number(global) + " / " + number(micro) + "); expected 1 to " + number(micro_batches));
      return 0;
    }
    return wanted > 0 ? wanted : default_lanes(micro_batches);
  }

  void not_a_multiple(std::int64_t global, std::int64_t micro) {
    const auto below = global / micro * micro;
    const std::string near = (below > 0 ? number(below) + " or " : "") + number(below + micro);
    std::int64_t smaller = micro, larger = micro;
    while (global % smaller != 0) --smaller;
    while (larger < global && global % larger != 0) ++larger;
    const auto divisors = number(smaller) + (larger <= global && global % larger == 0 ? " or " + number(larger) : "");
    mistakes_.add(place("train", "global_batch_size"), "train.global_batch_size",
                  number(global) + " is not a multiple of train.micro_batch_size = " + number(micro) + " (" +
                      place("train", "micro_batch_size").text() + ")",
                  "nearest: global_batch_size " + near + ", or micro_batch_size " + divisors);
  }

  void ranks(std::int64_t lanes) {
    const auto ranks = integer("launch", "ranks");
    const auto dp = integer("parallel", "dp");
    if (ranks <= 0 || option("parallel", "dp") == nullptr) return;
    if (dp > 0 && dp != ranks) {
      mistakes_.add(place("parallel", "dp"), "parallel.dp",
                    "is " + number(dp) + ", but the run has " + number(ranks) + " ranks (" +
                        place("launch", "ranks").text() + ")",
                    "write dp = \"auto\", or launch.ranks = " + number(dp));
    }
    if (recipe_.section("parallel").table.component == "single" && ranks > 1) {
      mistakes_.add(recipe_.section("parallel").table.place, "parallel.strategy",
                    "\"single\" is for one rank, the run has " + number(ranks), "write strategy = \"auto\"");
    }
    if (ranks <= lanes) return;
    const auto global = integer("train", "global_batch_size");
    const auto micro = integer("train", "micro_batch_size");
    mistakes_.add(place("launch", "ranks"), "launch.ranks",
                  number(ranks) + " ranks cannot share a step of " + number(lanes) + " lanes (" + number(global) +
                      " / " + number(micro) + " = " + number(global / micro) + " micro-batches in " + number(lanes) +
                      " lanes; a rank needs at least one); expected 1 to " + number(lanes),
                  "use " + number(lanes) + " ranks and launch.spares = " + number(ranks - lanes) +
                      (global / micro > lanes ? ", more train.lanes" : "") +
                      ", a larger global_batch_size or a smaller micro_batch_size");
  }

  const CheckedRecipe& recipe_;
  MistakeList& mistakes_;
  std::vector<std::string>& notes_;
};

}  // namespace

std::int64_t check_together(const CheckedRecipe& recipe, MistakeList& mistakes, std::vector<std::string>& notes) {
  return Together(recipe, mistakes, notes).check();
}

}  // namespace dtrain
