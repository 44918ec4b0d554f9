// SPDX-License-Identifier: Apache-2.0
#include "core/plugin/catalog.h"

#include <dtrain/error.h>
#include <dtrain/plugin.h>

#include <algorithm>
#include <map>
#include <set>
#include <system_error>
#include <utility>

#include "core/plugin/elf_notes.h"
#include "core/plugin/note.h"

namespace dtrain {
namespace {

namespace fs = std::filesystem;

std::string hexadecimal(const std::vector<std::byte>& bytes) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string out;
  for (const auto byte : bytes) {
    out += digits[std::to_integer<unsigned>(byte) >> 4];
    out += digits[std::to_integer<unsigned>(byte) & 15];
  }
  return out;
}

constexpr std::uint32_t kGnuBuildId = 3;  // NT_GNU_BUILD_ID

// One place of the search order: within it the same component twice is an error.
class OnePlace {
 public:
  void add(const PluginInfo& plugin) {
    for (const auto& component : plugin.components) {
      const auto [first, inserted] = owner_.try_emplace({component.kind, component.name}, plugin.path);
      if (!inserted) {
        throw UserError("two plugins offer " + component.kind + " '" + component.name + "': '" +
                            first->second.string() + "' and '" + plugin.path.string() + "'",
                        "remove one of them, or rename its component");
      }
    }
  }

 private:
  std::map<std::pair<std::string, std::string>, fs::path> owner_;
};

std::vector<fs::path> shared_objects(const fs::path& folder, bool required) {
  std::vector<fs::path> files;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (it->path().extension() == ".so") files.push_back(it->path());
  }
  if (error && (required || error != std::errc::no_such_file_or_directory)) {
    throw UserError("cannot read the plugin folder '" + folder.string() + "': " + error.message(),
                    "check the path and its permissions");
  }
  std::sort(files.begin(), files.end());
  return files;
}

fs::path identity_of(const fs::path& path) {
  std::error_code error;
  auto canonical = fs::weakly_canonical(path, error);
  return error ? path : canonical;
}

}  // namespace

std::optional<PluginInfo> read_plugin_note(const fs::path& file) {
  const auto notes = read_elf_notes(file);
  std::optional<PluginInfo> plugin;
  std::string build_id;
  for (const auto& note : notes) {
    if (note.owner == "GNU" && note.type == kGnuBuildId) build_id = hexadecimal(note.description);
    if (note.owner != "dtrain" || note.type != plugin::kNoteType) continue;
    if (plugin) {
      throw UserError("plugin '" + file.string() + "' has two dtrain notes",
                      "use DTRAIN_PLUGIN once in a shared object");
    }
    plugin = decode_note(note.description, file);
  }
  if (plugin) {
    plugin->path = fs::absolute(file).lexically_normal();  // dlopen searches elsewhere for a name without a slash
    plugin->build_id = std::move(build_id);
  }
  return plugin;
}

PluginCatalog::PluginCatalog(Places places) {
  std::set<fs::path> seen;  // the same file by two names, or a folder listed twice, is no duplicate
  OnePlace named;
  for (const auto& file : places.files) {
    auto plugin = read_plugin_note(file);
    if (!plugin) {
      throw UserError("'" + file.string() + "' is not a dtrain plugin: the shared object has no dtrain note",
                      "declare it with DTRAIN_PLUGIN and build it with dtrain_add_plugin()");
    }
    if (!seen.insert(identity_of(file)).second) continue;
    named.add(*plugin);
    plugins_.push_back(std::move(*plugin));
  }
  for (const auto& folder : places.folders) {
    const bool required = std::ranges::find(places.required_folders, folder) != places.required_folders.end();
    OnePlace place;
    for (const auto& file : shared_objects(folder, required)) {
      if (!seen.insert(identity_of(file)).second) continue;
      std::optional<PluginInfo> plugin;
      try {
        plugin = read_plugin_note(file);
      } catch (const UserError& e) {
        if (required) throw;
        problems_.push_back({file, e.message(), e.hint()});
      }
      if (!plugin) continue;
      place.add(*plugin);
      plugins_.push_back(std::move(*plugin));
    }
  }
}

std::vector<CatalogEntry> PluginCatalog::of_kind(std::string_view kind) const {
  std::map<std::string_view, CatalogEntry> by_name;
  for (const auto& plugin : plugins_) {
    for (const auto& component : plugin.components) {
      if (component.kind == kind) by_name.try_emplace(component.name, CatalogEntry{&plugin, &component});
    }
  }
  std::vector<CatalogEntry> entries;
  for (const auto& [name, entry] : by_name) entries.push_back(entry);
  return entries;
}

std::optional<CatalogEntry> PluginCatalog::find(std::string_view kind, std::string_view name) const {
  for (const auto& plugin : plugins_) {
    for (const auto& component : plugin.components) {
      if (component.kind == kind && component.name == name) return CatalogEntry{&plugin, &component};
    }
  }
  return std::nullopt;
}

}  // namespace dtrain
