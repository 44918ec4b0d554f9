// SPDX-License-Identifier: Apache-2.0
//
// dtrain plan: what a recipe resolves to, and why. Starts nothing.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <memory>

#include "cli/recipe_options.h"
#include "cli/verbs.h"
#include "core/plan/plan_report.h"

namespace dtrain::cli {
namespace {

void print_fields(const Plan& plan) {
  std::size_t key_width = 0, value_width = 0;
  constexpr std::size_t kWidest = 44;
  const auto rows = plan_rows(plan);
  for (const auto& row : rows) {
    key_width = std::max(key_width, row.key.size());
    if (row.value.size() <= kWidest) value_width = std::max(value_width, row.value.size());
  }
  const auto pad = [](const std::string& text, std::size_t width) {
    return text + std::string(text.size() < width ? width - text.size() : 0, ' ');
  };
  for (const auto& row : rows)
    std::cout << pad(row.key, key_width) << " = " << pad(row.value, value_width) << "  # " << row.origin << '\n';
}

void print(const Plan& plan) {
  print_fields(plan);
  std::cout << '\n';
  for (const auto& line : plan_summary(plan)) std::cout << line << '\n';
  for (const auto& note : plan.notes) std::cout << "note: " << note << '\n';
}

}  // namespace

void add_plan(CLI::App& app, Action& action) {
  auto* verb = app.add_subcommand("plan", "Show what a recipe resolves to; start nothing");
  auto options = std::make_shared<RecipeOptions>();
  options->add_to(*verb);
  auto json = std::make_shared<bool>(false);
  verb->add_flag("--json", *json, "One JSON object on standard output");
  verb->callback([&action, options, json] {
    action = [options, json] {
      const auto plan = make_plan(options->request());
      if (*json) {
        std::cout << plan_report_json(plan) << '\n';
      } else {
        print(plan);
      }
      return 0;
    };
  });
}

}  // namespace dtrain::cli
