// SPDX-License-Identifier: Apache-2.0
//
// What a run will do: the immutable value that is made from a recipe and sent to every process. Nothing after it reads
// TOML.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/plugin/option.h"

namespace dtrain {

// One chosen component and its typed options, ready to be bound.
struct ComponentPlan {
  std::string kind;    // "model", "data" ...
  std::string name;    // the recipe's `kind`
  std::string plugin;  // absolute path of the shared object
  std::string build_id;
  OptionValues options;
};

struct DataSourcePlan {
  ComponentPlan component;
  double weight = 1.0;
};

// Which parameters a group takes and what it changes. The first group whose glob matches the dotted name wins.
struct ParamGroupPlan {
  std::string match;
  double lr_scale = 1.0;
  std::optional<double> weight_decay;
  bool frozen = false;
};

// One resolved value: what `dtrain plan` shows, what the hashes below cover and what a resume compares.
struct PlanField {
  std::string key;  // dotted: "optimizer.lr", "data.train.0.path"
  OptionValue value;
  ResumeRule rule = ResumeRule::identity;
  std::string origin;  // "recipes/a.toml:3:1", "--set #1 (replaces ...)", "default", or how it was derived
};

enum class Reduction : std::uint8_t { canonical, native };
enum class NonFinite : std::uint8_t { stop, skip };
enum class OnSaveError : std::uint8_t { stop, retry };

struct Plan {
  // [run]
  std::string name;
  std::uint64_t seed = 0;

  // Components
  ComponentPlan model, loss, optimizer, schedule, strategy, comm, store;
  std::optional<ComponentPlan> tokenizer;
  std::vector<ComponentPlan> metrics;

  // [data]
  std::int64_t seq_len = 0;
  double eval_fraction = 0;
  bool shuffle = true;
  bool drop_last = false;
  std::int64_t loaders = 1;  // threads a rank that read ahead
  std::vector<DataSourcePlan> train, eval;

  // [train]; exactly one of steps, epochs, tokens is positive
  std::int64_t steps = 0;
  std::int64_t epochs = 0;
  std::int64_t tokens = 0;
  std::int64_t global_batch_size = 0;
  std::int64_t micro_batch_size = 0;
  std::int64_t lanes = 0;    // resolved: min(global / micro, 16) unless the recipe says
  double max_grad_norm = 0;  // 0: no clipping
  Reduction reduction = Reduction::canonical;
  NonFinite non_finite = NonFinite::stop;
  std::int64_t max_consecutive_skips = 5;
  std::int64_t threads = 1;  // compute threads a rank

  // [optimizer], what is common to all
  double lr = 0;
  double weight_decay = 0;
  std::vector<ParamGroupPlan> groups;

  // [lr_schedule]
  std::int64_t warmup = 0;  // updates

  // [eval]
  std::int64_t eval_every = 0;    // steps; 0: only at the end
  std::int64_t eval_samples = 0;  // 0: all

  // [checkpoint]
  std::int64_t checkpoint_every = 0;  // steps; 0: only at the end and when stopped
  std::int64_t keep_last = 3;
  std::int64_t keep_best = 0;
  std::string best_metric = "loss";
  OnSaveError on_save_error = OnSaveError::stop;

  // [log]
  std::int64_t log_every = 1;  // steps between lines of metrics.jsonl

  // [parallel]
  std::int64_t dp = 0;  // 0: auto, all ranks

  // [launch]: not part of the run's identity
  std::int64_t ranks = 1;
  std::int64_t spares = 0;
  double grace_s = 30;    // time from a stop signal to the last process gone
  double timeout_s = 60;  // [comm]: longest wait of a collective

  // What the run is
  std::vector<PlanField> fields;   // every value, in the order of the resolved recipe
  std::vector<std::string> notes;  // what the user should know though it is no mistake
  std::string recipe;              // the resolved recipe, itself valid input
  std::string identity;            // SHA-256 over the identity fields, hexadecimal
  std::string trajectory;          // SHA-256 over the trajectory fields
};

// Exact both ways: doubles keep their bits.
std::string to_json(const Plan& plan);
Plan plan_from_json(const std::string& text);

}  // namespace dtrain
