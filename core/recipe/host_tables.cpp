// SPDX-License-Identifier: Apache-2.0
#include "core/recipe/host_tables.h"

#include <algorithm>
#include <limits>

namespace dtrain {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kMost = 1e15;  // counts of samples, steps and tokens; exact as a double

OptionType type_of(const OptionValue& value) {
  return static_cast<OptionType>(value.index());
}

// `option("steps", 0).range(0, kMost).trajectory().doc("...")`
class option {
 public:
  option(std::string name, OptionValue default_value) {
    out_.spec.name = std::move(name);
    out_.spec.type = type_of(default_value);
    out_.spec.default_value = std::move(default_value);
    out_.spec.min = -kInf;
    out_.spec.max = kInf;
  }
  option&& range(double min, double max) && {
    out_.spec.min = min;
    out_.spec.max = max;
    return std::move(*this);
  }
  option&& above(double min) && {
    out_.spec.exclusive_min = true;
    return std::move(*this).range(min, kInf);
  }
  option&& unit(std::string name) && {
    out_.spec.unit = std::move(name);
    return std::move(*this);
  }
  option&& choices(std::vector<std::string> names) && {
    out_.spec.choices = std::move(names);
    return std::move(*this);
  }
  option&& path() && {
    out_.spec.path = true;
    return std::move(*this);
  }
  option&& required() && {
    out_.spec.required = true;
    return std::move(*this);
  }
  option&& no_default() && {
    out_.has_default = false;
    return std::move(*this);
  }
  option&& trajectory() && {
    out_.spec.rule = ResumeRule::trajectory;
    return std::move(*this);
  }
  option&& operational() && {
    out_.spec.rule = ResumeRule::operational;
    return std::move(*this);
  }
  HostOption doc(std::string text) && {
    out_.spec.doc = std::move(text);
    return std::move(out_);
  }

 private:
  HostOption out_;
};

using Text = std::string;
using Texts = std::vector<std::string>;

std::int64_t whole(std::int64_t value) {
  return value;
}

TableSpec run_table() {
  return {.name = "run",
          .options = {option("name", Text()).operational().doc("name of the run; default: the recipe's file name"),
                      option("seed", whole(0)).range(0, 9e18).doc("all random numbers of the run follow from it")},
          .doc = "what the run is"};
}

TableSpec data_table() {
  const auto source = [](const char* name, ResumeRule rule, bool required, const char* doc) {
    return ListSpec{
        .name = name,
        .component_kind = "data",
        .required = required,
        .rule = rule,
        .options = {option("weight", 1.0).above(0).doc("share of this source in the mixture, relative to the others")},
        .doc = doc};
  };
  return {.name = "data",
          .options =
              {option("seq_len", whole(0))
                   .range(0, 1 << 24)
                   .unit("tokens")
                   .doc("length of a sequence; 0: samples are not sequences"),
               option("eval_fraction", 0.0)
                   .range(0, 0.9)
                   .doc("share of the training set kept for evaluation, instead of `eval`"),
               option("shuffle", true).doc("a new order in each epoch"),
               option("drop_last", false).doc("leave out an epoch's last, short batch"),
               option("loaders", whole(1)).range(0, 64).operational().doc("threads a rank that read ahead; 0: none")},
          .lists = {source("train", ResumeRule::identity, true, "the sets to train on"),
                    source("eval", ResumeRule::trajectory, false, "the sets to evaluate on")},
          .doc = "where samples come from"};
}

TableSpec train_table() {
  return {.name = "train",
          .options =
              {option("steps", whole(0))
                   .range(1, kMost)
                   .no_default()
                   .trajectory()
                   .doc("length of the run; or epochs, or tokens"),
               option("epochs", whole(0))
                   .range(1, kMost)
                   .no_default()
                   .trajectory()
                   .doc("length of the run in passes over the training set"),
               option("tokens", whole(0))
                   .range(1, kMost)
                   .no_default()
                   .trajectory()
                   .doc("length of the run in tokens, rounded up to whole steps"),
               option("global_batch_size", whole(1))
                   .range(1, 1e9)
                   .required()
                   .unit("samples")
                   .doc("samples a step, on all ranks together"),
               option("micro_batch_size", whole(1))
                   .range(1, 1e9)
                   .required()
                   .unit("samples")
                   .doc("samples of one forward pass; accumulation is derived"),
               option("lanes", whole(0))
                   .range(1, 1e6)
                   .choices({"auto"})
                   .doc("parts a step is cut into: the most ranks it can use; auto: min(micro-batches, 16)"),
               option("max_grad_norm", 0.0)
                   .range(0, kInf)
                   .trajectory()
                   .doc("gradients are scaled down to this L2 norm; 0: never"),
               option("reduction", Text("canonical"))
                   .choices({"canonical", "native"})
                   .doc("canonical: the same bits on any number of ranks; native: the backend's own all-reduce"),
               option("non_finite", Text("stop"))
                   .choices({"stop", "skip"})
                   .trajectory()
                   .doc("what a NaN or infinite gradient does: end the run (exit 4), or skip the update"),
               option("max_consecutive_skips", whole(5))
                   .range(1, kMost)
                   .trajectory()
                   .doc("skipped steps in a row after which the run ends"),
               option("threads", whole(1)).range(1, 1024).doc("compute threads a rank; other numbers give other bits")},
          .doc = "the step and how many"};
}

TableSpec optimizer_table() {
  ListSpec groups{
      .name = "groups",
      .rule = ResumeRule::trajectory,
      .options =
          {option("match", Text())
               .required()
               .trajectory()
               .doc("glob over parameter names; the first group that matches wins"),
           option("lr_scale", 1.0).range(0, kInf).trajectory().doc("factor on lr"),
           option("weight_decay", 0.0).range(0, kInf).no_default().trajectory().doc("instead of the optimizer's"),
           option("frozen", false).trajectory().doc("these parameters do not change")},
      .doc = "parameters that are treated in their own way"};
  return {
      .name = "optimizer",
      .component_kind = "optimizer",
      .options =
          {option("lr", 0.0).above(0).required().trajectory().doc("learning rate, before schedule and group"),
           option("weight_decay", 0.0).range(0, kInf).trajectory().doc("decay of the weights per update, times lr")},
      .lists = {std::move(groups)},
      .doc = "how parameters change"};
}

TableSpec schedule_table() {
  return {.name = "lr_schedule",
          .component_kind = "schedule",
          .default_kind = "constant",
          .rule = ResumeRule::trajectory,
          .options = {option("warmup", whole(0))
                          .range(0, kMost)
                          .unit("updates")
                          .trajectory()
                          .doc("updates over which lr rises from 0")},
          .doc = "the learning rate over the run"};
}

TableSpec eval_table() {
  return {
      .name = "eval",
      .options = {option("every", whole(0))
                      .range(0, kMost)
                      .unit("steps")
                      .operational()
                      .doc("steps between evaluations; 0: only at the end"),
                  option("samples", whole(0)).range(0, kMost).operational().doc("samples of an evaluation; 0: all")},
      .lists = {{.name = "metrics",
                 .component_kind = "metric",
                 .names = true,
                 .default_name = "loss",
                 .rule = ResumeRule::operational,
                 .doc = "what is measured"}},
      .doc = "when and what to measure"};
}

TableSpec checkpoint_table() {
  return {
      .name = "checkpoint",
      .component_kind = "store",
      .default_kind = "local",
      .site = true,
      .rule = ResumeRule::operational,
      .options = {option("every", whole(0))
                      .range(0, kMost)
                      .unit("steps")
                      .operational()
                      .doc("steps between checkpoints; 0: only at the end and when stopped"),
                  option("keep_last", whole(3)).range(1, 1e6).operational().doc("newest checkpoints that stay"),
                  option("keep_best", whole(0)).range(0, 1e6).operational().doc("best checkpoints that stay as well"),
                  option("best_metric", Text("loss")).operational().doc("the metric that decides which are best"),
                  option("on_save_error", Text("stop"))
                      .choices({"stop", "retry"})
                      .operational()
                      .doc("what a failed save does: end the run, or try again at the next one")},
      .doc = "saving and keeping"};
}

TableSpec launch_table() {
  return {.name = "launch",
          .site = true,
          .options = {option("ranks", whole(1)).range(1, 65536).operational().doc("worker processes"),
                      option("spares", whole(0))
                          .range(0, 65536)
                          .operational()
                          .doc("further workers that wait to replace a lost one"),
                      option("grace", 30.0)
                          .above(0)
                          .unit("s")
                          .operational()
                          .doc("time from a stop signal to the end of the last process")},
          .doc = "processes; not part of the run's identity"};
}

std::vector<TableSpec> all_tables() {
  return {run_table(),
          {.name = "model", .component_kind = "model", .doc = "the network"},
          {.name = "loss", .component_kind = "loss", .default_kind = "cross_entropy", .doc = "the objective"},
          {.name = "tokenizer", .component_kind = "tokenizer", .optional = true, .doc = "text to tokens"},
          data_table(),
          train_table(),
          optimizer_table(),
          schedule_table(),
          eval_table(),
          checkpoint_table(),
          {.name = "log",
           .site = true,
           .options = {option("every", whole(1))
                           .range(1, kMost)
                           .unit("steps")
                           .operational()
                           .doc("steps between lines of metrics.jsonl")},
           .doc = "what is written down"},
          {.name = "parallel",
           .component_kind = "strategy",
           .kind_key = "strategy",
           .default_kind = "auto",
           .site = true,
           .options = {option("dp", whole(0))
                           .range(1, 65536)
                           .choices({"auto"})
                           .operational()
                           .doc("data-parallel ranks; auto: all")},
           .doc = "how ranks share the work; strategy auto: single on one rank, else ddp"},
          {.name = "comm",
           .component_kind = "comm",
           .default_kind = "gloo",
           .site = true,
           .rule = ResumeRule::operational,
           .options = {option("timeout", 60.0).above(0).unit("s").operational().doc("longest wait of a collective")},
           .doc = "how ranks talk"},
          launch_table(),
          {.name = "plugins",
           .site = true,
           .options =
               {option("paths", Texts()).path().operational().doc("folders with plugins, searched before the system's"),
                option("files", Texts()).path().operational().doc("plugin files, searched first")},
           .doc = "where components come from"}};
}

const std::vector<TableSpec>& tables() {
  static const std::vector<TableSpec> all = all_tables();
  return all;
}

template <class Specs, class Name>
auto find_spec(const Specs& specs, std::string_view key, Name name) -> decltype(&*specs.begin()) {
  const auto it = std::find_if(specs.begin(), specs.end(), [&](const auto& s) { return name(s) == key; });
  return it == specs.end() ? nullptr : &*it;
}

}  // namespace

const HostOption* TableSpec::option(std::string_view key) const {
  return find_spec(options, key, [](const HostOption& o) -> const std::string& { return o.spec.name; });
}

const ListSpec* TableSpec::list(std::string_view key) const {
  return find_spec(lists, key, [](const ListSpec& l) -> const std::string& { return l.name; });
}

std::vector<std::string> TableSpec::host_keys() const {
  std::vector<std::string> keys;
  if (!component_kind.empty()) keys.push_back(kind_key);
  for (const auto& o : options) keys.push_back(o.spec.name);
  for (const auto& l : lists) keys.push_back(l.name);
  return keys;
}

std::span<const TableSpec> host_tables() {
  return tables();
}

const TableSpec* host_table(std::string_view name) {
  return find_spec(tables(), name, [](const TableSpec& t) -> const std::string& { return t.name; });
}

}  // namespace dtrain
