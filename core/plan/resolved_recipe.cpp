// SPDX-License-Identifier: Apache-2.0
#include "core/plan/resolved_recipe.h"

#include <algorithm>

#include "core/recipe/toml_text.h"

namespace dtrain {
namespace {

// The word that stands for a number's default ("auto") comes back as the word: it means more than the number.
OptionValue shown_value(const CheckedOption& option) {
  const bool word = option.spec.type == OptionType::integer && !option.spec.choices.empty();
  if (word && option.value == option.spec.default_value) return option.spec.choices.front();
  return option.value;
}

bool is_native(const CheckedRecipe& recipe) {
  const auto* reduction = recipe.section("train").table.find("reduction");
  return reduction != nullptr && std::get<std::string>(reduction->value) == "native";
}

ResumeRule component_rule(const CheckedRecipe& recipe, const CheckedTable& table) {
  if (table.component_kind == "comm" && is_native(recipe)) return ResumeRule::identity;
  if (table.component_kind == "strategy" && (table.component == kOneRank || table.component == kManyRanks))
    return ResumeRule::operational;
  return table.rule;
}

class Fields {
 public:
  explicit Fields(const CheckedRecipe& recipe) : recipe_(recipe) {}

  std::vector<PlanField> all() {
    for (const auto& section : recipe_.sections) {
      add(section.table, section.spec->kind_key);
      for (const auto& list : section.lists) {
        for (const auto& element : list.elements) add(element, "kind");
      }
    }
    return std::move(out_);
  }

 private:
  void add(const CheckedTable& table, const std::string& kind_key) {
    const auto rule = component_rule(recipe_, table);
    if (!table.component.empty()) out_.push_back({table.path + "." + kind_key, table.component, rule, table.origin});
    for (const auto& option : table.options) {
      // A component that does not matter to the result cannot have options that do.
      const auto option_rule =
          option.host ? std::max(option.spec.rule, table_floor(table)) : std::max(option.spec.rule, rule);
      out_.push_back({table.path + "." + option.spec.name, shown_value(option), option_rule, option.origin});
    }
  }

  // What belongs to a list that does not matter, such as the evaluation sets, does not either.
  static ResumeRule table_floor(const CheckedTable& table) {
    return table.path.starts_with("data.") ? table.rule : ResumeRule::identity;
  }

  const CheckedRecipe& recipe_;
  std::vector<PlanField> out_;
};

class Writer {
 public:
  explicit Writer(const CheckedRecipe& recipe) : recipe_(recipe) {}

  std::string text() {
    out_ = "schema = " + std::to_string(kRecipeSchema) + "\n";
    for (const auto& section : recipe_.sections) {
      if (section.spec->optional && section.table.component.empty()) continue;
      std::string body = table(section.table, section.spec->kind_key);
      for (const auto& list : section.lists) body += names(list);
      if (!body.empty()) out_ += "\n[" + section.spec->name + "]\n" + body;
      for (const auto& list : section.lists) elements(list);
    }
    return std::move(out_);
  }

 private:
  static std::string table(const CheckedTable& table, const std::string& kind_key) {
    std::string out;
    // What dtrain chooses by itself it may choose anew, so its options stay out.
    const bool by_host = table.component_kind == "strategy" && table.origin.starts_with(kAutoStrategy);
    if (!table.component.empty()) {
      out += kind_key + " = " + toml_text(by_host ? kAutoStrategy : std::string_view(table.component)) + "\n";
    }
    for (const auto& option : table.options) {
      if (option.host || !by_host) out += toml_key(option.spec.name) + " = " + toml_text(shown_value(option)) + "\n";
    }
    return out;
  }

  static bool only_names(const CheckedList& list) {
    return list.spec->names && std::all_of(list.elements.begin(), list.elements.end(), [](const CheckedTable& element) {
             return std::none_of(element.options.begin(), element.options.end(),
                                 [](const CheckedOption& o) { return o.given(); });
           });
  }

  static std::string names(const CheckedList& list) {
    if (!only_names(list)) return {};
    std::vector<std::string> all;
    for (const auto& element : list.elements) all.push_back(element.component);
    return list.spec->name + " = " + toml_text(OptionValue(all)) + "\n";
  }

  void elements(const CheckedList& list) {
    if (only_names(list)) return;
    for (const auto& element : list.elements) out_ += "\n[[" + list.path + "]]\n" + table(element, "kind");
  }

  const CheckedRecipe& recipe_;
  std::string out_;
};

}  // namespace

std::vector<PlanField> plan_fields(const CheckedRecipe& recipe) {
  return Fields(recipe).all();
}

std::string recipe_text(const CheckedRecipe& recipe) {
  return Writer(recipe).text();
}

}  // namespace dtrain
