// SPDX-License-Identifier: Apache-2.0
#include "core/recipe/recipe.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

#include "core/base/utf8.h"
#include "core/recipe/host_tables.h"
#include "core/recipe/merge.h"
#include "core/recipe/path_text.h"
#include "core/recipe/toml_reader.h"

namespace dtrain {
namespace {

namespace fs = std::filesystem;

class Loader {
 public:
  Loader(Recipe& recipe, MistakeList& mistakes) : recipe_(recipe), mistakes_(mistakes) {}

  // `asked`: where the file is named, unknown when on the command line.
  Table file(const std::string& path, const Place& asked, const std::string& key) {
    std::error_code error;
    const auto identity = fs::weakly_canonical(path, error).string();
    for (std::size_t i = 0; i < open_.size(); ++i) {
      if (open_[i].first != identity) continue;
      std::string chain;
      for (auto j = i + 1; j < open_.size(); ++j) chain += open_[j].second.text() + " extends " + open_[j].first + ", ";
      mistakes_.add(asked, key, "this file extends itself: " + chain + asked.text() + " extends " + identity);
      return {};
    }
    const auto text = contents(path, asked, key);
    if (!text) return {};
    recipe_.files.push_back(path);
    open_.emplace_back(identity, asked);
    auto table = document(*text, path, folder_of(path));
    open_.pop_back();
    return table;
  }

  Table document(const std::string& text, const std::string& name, const std::string& folder) {
    auto value = read_toml(text, name, folder, mistakes_);
    if (!value) {
      unreadable_ = true;
      return {};
    }
    auto own = std::move(*value->as<Table>());
    check_schema(own, name);
    Table out;
    if (const auto* extends = own.find("extends")) {
      for (const auto& base : bases(*extends)) {
        merge(out, file(base.path, base.place, "extends"), recipe_.notes);
      }
    }
    own.erase("schema");
    own.erase("extends");
    merge(out, std::move(own), recipe_.notes);
    return out;
  }

  bool unreadable() const { return unreadable_; }

 private:
  struct Base {
    std::string path;
    Place place;
  };

  static std::string folder_of(const std::string& path) {
    return fs::absolute(path).lexically_normal().parent_path().string();
  }

  std::optional<std::string> contents(const std::string& path, const Place& asked, const std::string& key) {
    std::error_code error;
    if (fs::is_directory(path, error)) {
      mistakes_.add(asked, key, "cannot read " + path + ": Is a directory", "name the recipe in it");
    } else {
      errno = 0;
      std::ifstream in(path, std::ios::binary);
      if (in) {
        std::string text{std::istreambuf_iterator<char>(in), {}};
        if (!in.bad()) return text;
      }
      mistakes_.add(asked, key, "cannot read " + path + ": " + std::strerror(errno));
    }
    unreadable_ = true;
    return std::nullopt;
  }

  void check_schema(const Table& table, const std::string& name) {
    const auto* schema = table.find("schema");
    if (schema == nullptr) {
      mistakes_.add({name, 1, 1}, "schema", "missing: a recipe says which format it is written in",
                    "write schema = " + std::to_string(kRecipeSchema) + " as the first line");
      return;
    }
    const auto* number = schema->as<std::int64_t>();
    if (number != nullptr && *number > kRecipeSchema) {
      mistakes_.add(schema->origin.place, "schema",
                    "the recipe has format " + std::to_string(*number) + ", this dtrain reads format " +
                        std::to_string(kRecipeSchema),
                    "use a newer dtrain");
      newer_ = true;
    } else if ((number == nullptr || *number < 1) && schema->as<Unreadable>() == nullptr) {
      mistakes_.add(schema->origin.place, "schema",
                    "expected " + std::to_string(kRecipeSchema) + ", found " + describe(*schema));
    }
  }

  std::vector<Base> bases(const Value& extends) {
    std::vector<Base> out;
    const auto add = [&](const Value& value) {
      if (const auto* text = value.as<std::string>(); text != nullptr && !text->empty()) {
        if (auto path = resolve_path(*text, "extends", value.origin, mistakes_))
          out.push_back({shown(*path, value.origin), value.origin.place});
      } else if (value.as<Unreadable>() == nullptr) {
        mistakes_.add(value.origin.place, "extends", "expected a file or a list of files, found " + describe(value));
      }
    };
    if (const auto* list = extends.as<Array>()) {
      for (const auto& value : *list) add(value);
    } else {
      add(extends);
    }
    return out;
  }

  // Relative to where dtrain was started, when the recipe was named that way: messages stay short.
  static std::string shown(const std::string& absolute, const Origin& origin) {
    if (fs::path(origin.place.file).is_absolute()) return absolute;
    const auto relative = fs::path(absolute).lexically_proximate(fs::current_path()).string();
    return relative.starts_with("..") ? absolute : relative;
  }

 public:
  bool newer() const { return newer_; }

 private:
  Recipe& recipe_;
  MistakeList& mistakes_;
  std::vector<std::pair<std::string, Place>> open_;  // the chain of files being read, and where each was named
  bool unreadable_ = false;
  bool newer_ = false;
};

void check_site(const Table& site, MistakeList& mistakes) {
  for (const auto& entry : site.entries()) {
    const auto* table = host_table(entry.key);
    if (table == nullptr || table->site) continue;
    mistakes.add(entry.key_place, entry.key, "a site file holds facts of a machine; this table belongs to the recipe",
                 "a site file may have [checkpoint], [comm], [launch], [log], [parallel] and [plugins]");
  }
}

}  // namespace

Recipe load_recipe(const RecipeInput& input, MistakeList& mistakes) {
  Recipe recipe;
  Loader loader(recipe, mistakes);
  const auto here = fs::current_path().string();
  Table own;
  if (input.path == "-") {
    DTRAIN_CHECK(input.in != nullptr);
    recipe.name = "run";
    recipe.files.emplace_back("stdin");
    own = loader.document(std::string(std::istreambuf_iterator<char>(*input.in), {}), "stdin", here);
  } else {
    recipe.name = fs::path(input.path).stem().string();
    if (!is_utf8(recipe.name)) recipe.name = "run";
    own = loader.file(input.path, {}, "");
  }
  if (!input.site.empty()) {
    auto site = loader.file(input.site, {}, "");
    check_site(site, mistakes);
    merge(site, std::move(own), recipe.notes);
    own = std::move(site);
  }
  const auto settings = parse_settings(input.sets, mistakes);
  if (loader.unreadable() || loader.newer()) mistakes.throw_if_any();
  apply(settings, own, here, mistakes, recipe.notes);
  recipe.root = std::move(own);
  return recipe;
}

}  // namespace dtrain
