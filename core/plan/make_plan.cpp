// SPDX-License-Identifier: Apache-2.0
#include "core/plan/make_plan.h"

#include <algorithm>
#include <filesystem>

#include "core/base/hash.h"
#include "core/plan/batch_check.h"
#include "core/plan/lanes.h"
#include "core/plan/plan_fields.h"
#include "core/plan/resolved_recipe.h"
#include "core/recipe/recipe.h"
#include "core/recipe/recipe_check.h"
#include "core/recipe/value_check.h"

namespace dtrain {
namespace {

// nullptr when the recipe has something else under that name, which the check reports.
Table* table_of(Table& root, const std::string& name, const Origin& origin) {
  if (root.find(name) == nullptr) root.set(name, origin.place, {Table(), origin});
  return root.find(name)->as<Table>();
}

// The command line's own options, as if they were in the recipe.
void apply_options(const RecipeRequest& request, Table& root) {
  const auto here = std::filesystem::current_path().string();
  if (request.ranks) {
    const Origin origin{{"--ranks", 0, 0}, here, {}};
    Value value{*request.ranks, origin};
    if (auto* launch = table_of(root, "launch", origin)) {
      if (const auto* old = launch->find("ranks")) value.origin.replaced = {old->origin.place};
      launch->set("ranks", origin.place, std::move(value));
    }
  }
  if (!request.plugin_files.empty()) {
    const Origin origin{{"--plugin", 0, 0}, here, {}};
    auto* plugins = table_of(root, "plugins", origin);
    if (plugins == nullptr) return;
    Array files;
    for (const auto& file : request.plugin_files) files.push_back({file, origin});
    if (const auto* old = plugins->find("files")) {
      if (const auto* list = old->as<Array>()) {
        files.insert(files.end(), list->begin(), list->end());
      } else {
        files.push_back(*old);
      }
    }
    plugins->set("files", origin.place, {std::move(files), origin});
  }
}

PluginCatalog::Places plugin_places(const Table& root) {
  const auto paths = [&](std::string_view name) {
    std::vector<std::filesystem::path> out;
    const auto* plugins = root.find("plugins");
    const auto* table = plugins == nullptr ? nullptr : plugins->as<Table>();
    const auto* value = table == nullptr ? nullptr : table->find(name);
    if (value == nullptr) return out;
    MistakeList mistakes;  // the check of the whole recipe reports them
    const auto checked = check_value(*value, host_table("plugins")->option(name)->spec, "", mistakes);
    if (!checked) return out;
    for (const auto& path : std::get<std::vector<std::string>>(*checked)) out.emplace_back(path);
    return out;
  };
  PluginCatalog::Places places;
  places.files = paths("files");
  places.folders = paths("paths");
  places.required_folders = places.folders;
  return places;
}

CheckedOption* find(CheckedRecipe& recipe, std::string_view table, std::string_view name) {
  for (auto& section : recipe.sections) {
    if (section.spec->name != table) continue;
    for (auto& option : section.table.options) {
      if (option.spec.name == name) return &option;
    }
  }
  return nullptr;
}

CheckedTable& strategy_of(CheckedRecipe& recipe) {
  return std::find_if(recipe.sections.begin(), recipe.sections.end(),
                      [](const CheckedSection& s) { return s.spec->component_kind == "strategy"; })
      ->table;
}

// Fills in what follows from other values.
void resolve(CheckedRecipe& recipe, const std::string& name, std::int64_t lanes, const ComponentSource& components,
             MistakeList& mistakes) {
  if (auto* run = find(recipe, "run", "name"); run != nullptr && std::get<std::string>(run->value).empty()) {
    run->value = name;
    run->origin = "the recipe's file name";
  }
  if (auto* option = find(recipe, "train", "lanes"); option != nullptr && option->value == option->spec.default_value) {
    option->value = lanes;
    option->origin = "derived: min(micro-batches, " + std::to_string(kDefaultLanes) + ")";
  }
  auto& strategy = strategy_of(recipe);
  const auto* ranks = find(recipe, "launch", "ranks");
  if (strategy.component != kAutoStrategy || ranks == nullptr) return;
  const auto count = std::get<std::int64_t>(ranks->value);
  strategy.component = count == 1 ? kOneRank : kManyRanks;
  strategy.origin = "auto: " + std::to_string(count) + (count == 1 ? " rank" : " ranks");
  strategy.entry = components.find("strategy", strategy.component);
  if (!strategy.entry) {
    std::string searched;
    for (const auto& place : components.searched()) searched += (searched.empty() ? "" : ", ") + place;
    mistakes.add(strategy.place, "parallel.strategy", "there is no strategy \"" + strategy.component + "\"",
                 "searched: " + searched);
    return;
  }
  for (const auto& spec : strategy.entry->component->options)
    strategy.options.push_back({spec, spec.default_value, "default", {}, false});
}

ComponentPlan component(const CheckedTable& table) {
  DTRAIN_CHECK(table.entry.has_value(), table.path);
  ComponentPlan out{
      table.component_kind, table.component, table.entry->plugin->path.string(), table.entry->plugin->build_id, {}};
  for (const auto& option : table.options) {
    if (!option.host) out.options[option.spec.name] = option.value;
  }
  return out;
}

class Assemble {
 public:
  explicit Assemble(const CheckedRecipe& recipe) : recipe_(recipe) {}

  Plan plan() {
    components();
    get("run", "name", plan_.name);
    std::int64_t seed = 0;
    get("run", "seed", seed);
    plan_.seed = static_cast<std::uint64_t>(seed);
    data();
    train();
    get("optimizer", "lr", plan_.lr);
    get("optimizer", "weight_decay", plan_.weight_decay);
    for (const auto& group : recipe_.list("optimizer", "groups").elements) plan_.groups.push_back(param_group(group));
    get("lr_schedule", "warmup", plan_.warmup);
    get("eval", "every", plan_.eval_every);
    get("eval", "samples", plan_.eval_samples);
    get("checkpoint", "every", plan_.checkpoint_every);
    get("checkpoint", "keep_last", plan_.keep_last);
    get("checkpoint", "keep_best", plan_.keep_best);
    get("checkpoint", "best_metric", plan_.best_metric);
    plan_.on_save_error = text("checkpoint", "on_save_error") == "retry" ? OnSaveError::retry : OnSaveError::stop;
    get("log", "every", plan_.log_every);
    get("parallel", "dp", plan_.dp);
    get("launch", "ranks", plan_.ranks);
    get("launch", "spares", plan_.spares);
    get("launch", "grace", plan_.grace_s);
    get("comm", "timeout", plan_.timeout_s);
    return std::move(plan_);
  }

 private:
  // Options without a value keep what Plan starts with.
  template <class T>
  static void get(const CheckedTable& table, std::string_view name, T& out) {
    if (const auto* option = table.find(name)) out = std::get<T>(option->value);
  }
  template <class T>
  void get(std::string_view table, std::string_view name, T& out) const {
    get(recipe_.section(table).table, name, out);
  }
  std::string text(std::string_view table, std::string_view name) const {
    std::string out;
    get(table, name, out);
    return out;
  }

  void components() {
    plan_.model = component(recipe_.section("model").table);
    plan_.loss = component(recipe_.section("loss").table);
    plan_.optimizer = component(recipe_.section("optimizer").table);
    plan_.schedule = component(recipe_.section("lr_schedule").table);
    plan_.strategy = component(recipe_.section("parallel").table);
    plan_.comm = component(recipe_.section("comm").table);
    plan_.store = component(recipe_.section("checkpoint").table);
    if (const auto& tokenizer = recipe_.section("tokenizer").table; tokenizer.entry)
      plan_.tokenizer = component(tokenizer);
    for (const auto& metric : recipe_.list("eval", "metrics").elements) plan_.metrics.push_back(component(metric));
  }

  void data() {
    get("data", "seq_len", plan_.seq_len);
    get("data", "eval_fraction", plan_.eval_fraction);
    get("data", "shuffle", plan_.shuffle);
    get("data", "drop_last", plan_.drop_last);
    get("data", "loaders", plan_.loaders);
    const auto sources = [&](std::string_view name) {
      std::vector<DataSourcePlan> out;
      for (const auto& element : recipe_.list("data", name).elements) {
        out.push_back({component(element), 1.0});
        get(element, "weight", out.back().weight);
      }
      return out;
    };
    plan_.train = sources("train");
    plan_.eval = sources("eval");
  }

  void train() {
    get("train", "steps", plan_.steps);
    get("train", "epochs", plan_.epochs);
    get("train", "tokens", plan_.tokens);
    get("train", "global_batch_size", plan_.global_batch_size);
    get("train", "micro_batch_size", plan_.micro_batch_size);
    get("train", "lanes", plan_.lanes);
    get("train", "max_grad_norm", plan_.max_grad_norm);
    plan_.reduction = text("train", "reduction") == "native" ? Reduction::native : Reduction::canonical;
    plan_.non_finite = text("train", "non_finite") == "skip" ? NonFinite::skip : NonFinite::stop;
    get("train", "max_consecutive_skips", plan_.max_consecutive_skips);
    get("train", "threads", plan_.threads);
  }

  static ParamGroupPlan param_group(const CheckedTable& table) {
    ParamGroupPlan out;
    get(table, "match", out.match);
    get(table, "lr_scale", out.lr_scale);
    if (const auto* decay = table.find("weight_decay")) out.weight_decay = std::get<double>(decay->value);
    get(table, "frozen", out.frozen);
    return out;
  }

  const CheckedRecipe& recipe_;
  Plan plan_;
};

std::unique_ptr<ComponentSource> open_components(const Table& root, const OpenComponents& open, MistakeList& mistakes) {
  try {
    return open(plugin_places(root));
  } catch (const UserError& error) {
    mistakes.add(error.place(), "plugins", error.message(), error.hint());
    mistakes.throw_if_any();
    throw;
  }
}

}  // namespace

Plan make_plan(const RecipeRequest& request, const OpenComponents& open) {
  MistakeList mistakes;
  auto recipe = load_recipe({request.path, request.sets, request.site, request.in}, mistakes);
  apply_options(request, recipe.root);
  const auto components = open_components(recipe.root, open, mistakes);
  auto checked = check_recipe(recipe, *components, mistakes);
  auto notes = recipe.notes;
  const auto lanes = check_together(checked, mistakes, notes);
  resolve(checked, recipe.name, lanes, *components, mistakes);
  mistakes.throw_if_any();

  auto plan = Assemble(checked).plan();
  plan.fields = plan_fields(checked);
  plan.notes = std::move(notes);
  plan.recipe = recipe_text(checked);
  plan.identity = sha256_hex(rule_text(plan.fields, ResumeRule::identity));
  plan.trajectory = sha256_hex(rule_text(plan.fields, ResumeRule::trajectory));
  return plan;
}

}  // namespace dtrain
