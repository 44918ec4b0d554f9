// SPDX-License-Identifier: Apache-2.0
#include "core/plan/make_plan.h"

namespace dtrain {
namespace {

class CatalogComponents final : public ComponentSource {
 public:
  explicit CatalogComponents(const PluginCatalog::Places& places) : catalog_(places) {
    for (const auto& file : places.files) searched_.push_back(file.string());
    for (const auto& folder : places.folders) searched_.push_back(folder.string());
    for (const auto& problem : catalog_.problems())
      searched_.push_back("(passed over " + problem.path.string() + ": " + problem.message + ")");
  }

  std::vector<CatalogEntry> of_kind(std::string_view kind) const override { return catalog_.of_kind(kind); }
  std::optional<CatalogEntry> find(std::string_view kind, std::string_view name) const override {
    return catalog_.find(kind, name);
  }
  std::vector<std::string> searched() const override { return searched_; }

 private:
  PluginCatalog catalog_;
  std::vector<std::string> searched_;
};

}  // namespace

std::unique_ptr<ComponentSource> open_catalog(const PluginCatalog::Places& places) {
  auto all = PluginCatalog::default_places();
  all.files.insert(all.files.begin(), places.files.begin(), places.files.end());
  all.folders.insert(all.folders.begin(), places.folders.begin(), places.folders.end());
  all.required_folders.insert(all.required_folders.end(), places.required_folders.begin(),
                              places.required_folders.end());
  return std::make_unique<CatalogComponents>(all);
}

Plan make_plan(const RecipeRequest& request) {
  return make_plan(request, open_catalog);
}

}  // namespace dtrain
