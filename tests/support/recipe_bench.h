// SPDX-License-Identifier: Apache-2.0
//
// Makes plans from texts: files in a folder of the test's own, which is the working directory meanwhile, and fake
// components.
#pragma once

#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/plan/make_plan.h"
#include "core/recipe/recipe_errors.h"
#include "tests/support/fake_components.h"
#include "tests/support/temp_folder.h"

namespace dtrain::testing {

// A recipe that is good: with `lines` added to the named table, or another table behind it.
inline std::string good_recipe(const std::string& train = "", const std::string& rest = "") {
  return "schema = 1\n[model]\nkind = \"gpt\"\n[data]\nseq_len = 128\ntrain = { kind = \"text\", path = \"texts\" }\n"
         "[train]\nsteps = 10\nglobal_batch_size = 64\nmicro_batch_size = 4\n" +
         train + "[optimizer]\nkind = \"adamw\"\nlr = 1e-3\n" + rest;
}

class RecipeBench {
 public:
  RecipeBench() : before_(std::filesystem::current_path()) { std::filesystem::current_path(folder_.path()); }
  ~RecipeBench() {
    std::error_code ignored;
    std::filesystem::current_path(before_, ignored);
  }
  RecipeBench(const RecipeBench&) = delete;
  RecipeBench& operator=(const RecipeBench&) = delete;

  std::string folder() const { return std::filesystem::canonical(folder_.path()).string(); }

  void write(const std::string& name, const std::string& text) const {
    const auto path = folder_.path() / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }

  Plan plan(const RecipeRequest& request) const {
    return make_plan(request, [this](const PluginCatalog::Places& places) {
      places_ = places;
      return std::make_unique<FakeComponents>(components);
    });
  }
  Plan plan(const std::string& text, const std::vector<std::string>& sets = {}) const {
    write("r.toml", text);
    return plan(RecipeRequest{"r.toml", sets, {}, {}, {}, nullptr});
  }

  // All messages of a recipe that must be refused, one a line; "accepted" when it is not.
  std::string mistakes(const RecipeRequest& request) const {
    try {
      plan(request);
    } catch (const RecipeErrors& errors) {
      return errors.what();
    }
    return "accepted";
  }
  std::string mistakes(const std::string& text, const std::vector<std::string>& sets = {}) const {
    write("r.toml", text);
    return mistakes(RecipeRequest{"r.toml", sets, {}, {}, {}, nullptr});
  }

  const PluginCatalog::Places& places() const { return places_; }

  FakeComponents components;

 private:
  TempFolder folder_;
  std::filesystem::path before_;
  mutable PluginCatalog::Places places_;
};

inline const OptionValue* field(const Plan& plan, std::string_view key) {
  for (const auto& f : plan.fields) {
    if (f.key == key) return &f.value;
  }
  return nullptr;
}

inline std::string origin(const Plan& plan, std::string_view key) {
  for (const auto& f : plan.fields) {
    if (f.key == key) return f.origin;
  }
  return "no such field";
}

}  // namespace dtrain::testing
