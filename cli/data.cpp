// SPDX-License-Identifier: Apache-2.0
//
// dtrain data show: what a recipe's data are, and the first samples as a run would be fed them. Loads the data and
// tokenizer plugins only; starts nothing.
#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/recipe_options.h"
#include "cli/sample_text.h"
#include "cli/verbs.h"
#include "core/data/data_info.h"
#include "core/data/opened_data.h"

namespace dtrain::cli {
namespace {

using json = nlohmann::ordered_json;

void load(PluginLoader& loader, const ComponentPlan& component) {
  const auto info = read_plugin_note(component.plugin);
  if (!info) throw UserError(component.plugin + ": the plugin is gone", "start the command again");
  loader.load(*info);
}

// Calls look(batch, i) for the first `count` samples of the run, or as many as its first epoch has.
template <class Look>
void first_samples(const Plan& plan, const DataSplit& split, std::int64_t count, Look&& look) {
  count = std::min(count, split.layout().samples_per_epoch());
  BatchReader reader(
      {.source = split.source(plan.seed, 0), .loaders = 0, .end_step = split.layout().steps_per_epoch()});
  while (count > 0) {
    const auto batch = reader.next();
    for (std::int64_t i = 0; i < batch->count && count > 0; ++i, --count) look(*batch, static_cast<std::size_t>(i));
  }
}

std::span<const std::byte> field_of(const HostBatch& batch, std::size_t sample, std::size_t field,
                                    const FieldSpec& spec) {
  return std::span<const std::byte>(batch.field(field)).subspan(sample * spec.bytes(), spec.bytes());
}

std::string text(std::int64_t number) {
  return std::to_string(number);
}

std::string layout_text(const StepLayout& layout) {
  const auto& spec = layout.spec();
  const auto last = layout.step(layout.steps_per_epoch() - 1);
  auto out = text(layout.samples_per_epoch()) + " samples in " + text(layout.steps_per_epoch()) + " steps of " +
             text(spec.global_batch);
  if (last.count < spec.global_batch) out += " (the last one of " + text(last.count) + ")";
  const auto dropped = spec.samples - layout.samples_per_epoch();
  if (dropped > 0) out += "; " + text(dropped) + " dropped";
  return out + "; micro-batches of " + text(spec.micro_batch) + ", " + text(spec.lanes) + " lanes";
}

void print_sizes(const Plan& plan, const OpenedData& data) {
  const auto& sampler = data.train->sampler();
  for (std::size_t i = 0; i < sampler.sources().size(); ++i) {
    const auto& source = sampler.sources()[i];
    std::cout << "data.train[" << i << "]  " << plan.train[i].component.name << ": " << source.samples
              << " samples, weight " << number_text(source.weight) << ": "
              << sampler.draws_per_epoch(static_cast<std::int64_t>(i)) << " an epoch\n";
  }
  std::cout << "evaluation     ";
  if (data.eval) {
    std::cout << data.eval->samples() << " samples of "
              << (plan.eval.empty() ? "data.eval_fraction = " + number_text(plan.eval_fraction) : "data.eval") << '\n';
  } else {
    std::cout << "none\n";
  }
  std::string fields;
  for (const auto& field : data.info.fields) fields += (fields.empty() ? "" : ", ") + describe(field);
  std::cout << "fields         " << fields << '\n';
  if (data.info.vocab_size > 0) std::cout << "vocabulary     " << data.info.vocab_size << " tokens\n";
  if (data.info.num_classes > 0) std::cout << "classes        " << data.info.num_classes << '\n';
  std::cout << "epoch          " << layout_text(data.train->layout()) << '\n';
  const auto epochs =
      static_cast<double>(data.total_steps) / static_cast<double>(data.train->layout().steps_per_epoch());
  std::cout << "run            " << data.total_steps << " steps, " << number_text(epochs) << " epochs\n";
}

void print(const Plan& plan, const OpenedData& data, std::int64_t samples) {
  print_sizes(plan, data);
  const auto* tokenizer = data.info.vocab_size > 0 ? data.tokenizer.get() : nullptr;
  std::int64_t number = 0;
  first_samples(plan, *data.train, samples, [&](const HostBatch& batch, std::size_t i) {
    const auto id = batch.ids()[i];
    std::cout << "\nsample " << number++ << ": number " << index_of(id) << " of data.train[" << source_of(id) << "]\n";
    for (std::size_t f = 0; f < data.info.fields.size(); ++f) {
      const auto& spec = data.info.fields[f];
      const auto indent = std::string(spec.name.size() < 8 ? 9 - spec.name.size() : 1, ' ');
      std::cout << "  " << spec.name << indent << sample_text(spec, field_of(batch, i, f, spec), tokenizer) << '\n';
    }
  });
}

json to_json(const Plan& plan, const OpenedData& data, std::int64_t samples) {
  const auto& layout = data.train->layout();
  json root = {
      {"train", json::array()}, {"eval_samples", data.eval ? data.eval->samples() : 0}, {"fields", json::array()}};
  const auto sources = data.train->sampler().sources();
  for (std::size_t i = 0; i < sources.size(); ++i) {
    root["train"].push_back(
        {{"kind", plan.train[i].component.name},
         {"samples", sources[i].samples},
         {"weight", sources[i].weight},
         {"samples_per_epoch", data.train->sampler().draws_per_epoch(static_cast<std::int64_t>(i))}});
  }
  for (const auto& field : data.info.fields) {
    root["fields"].push_back({{"name", field.name}, {"dtype", name_of(field.type)}, {"shape", field.shape}});
  }
  root["vocab_size"] = data.info.vocab_size;
  root["num_classes"] = data.info.num_classes;
  root["seq_len"] = data.info.seq_len;
  root["samples_per_epoch"] = layout.samples_per_epoch();
  root["steps_per_epoch"] = layout.steps_per_epoch();
  root["total_steps"] = data.total_steps;
  root["samples"] = json::array();
  first_samples(plan, *data.train, samples, [&](const HostBatch& batch, std::size_t i) {
    json sample = {{"source", source_of(batch.ids()[i])}, {"index", index_of(batch.ids()[i])}};
    for (std::size_t f = 0; f < data.info.fields.size(); ++f) {
      const auto& spec = data.info.fields[f];
      sample["fields"][spec.name] = numbers_of(spec, field_of(batch, i, f, spec));
    }
    root["samples"].push_back(sample);
  });
  return root;
}

int show(const RecipeOptions& options, std::int64_t samples, bool as_json) {
  const auto plan = make_plan(options.request());
  PluginLoader loader;
  if (plan.tokenizer) load(loader, *plan.tokenizer);
  for (const auto* sources : {&plan.train, &plan.eval}) {
    for (const auto& source : *sources) load(loader, source.component);
  }
  const auto data = open_data(plan, loader);
  if (as_json) {
    std::cout << to_json(plan, data, samples).dump() << '\n';
  } else {
    print(plan, data, samples);
  }
  return 0;
}

}  // namespace

void add_data(CLI::App& app, Action& action) {
  struct Options {
    RecipeOptions recipe;
    std::int64_t samples = 2;
    bool json = false;
  };
  auto options = std::make_shared<Options>();
  auto* data = app.add_subcommand("data", "Look at a recipe's data");
  data->require_subcommand(1);
  auto* verb = data->add_subcommand("show", "Print sizes, fields, steps and the first samples of the run");
  options->recipe.add_to(*verb);
  verb->add_option("--samples", options->samples, "Samples to print")
      ->type_name("N")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1} << 30))
      ->capture_default_str();
  verb->add_flag("--json", options->json, "Print one JSON object on stdout, everything else on stderr");
  verb->callback(
      [&action, options] { action = [options] { return show(options->recipe, options->samples, options->json); }; });
}

}  // namespace dtrain::cli
