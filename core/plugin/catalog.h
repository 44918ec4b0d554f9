// SPDX-License-Identifier: Apache-2.0
//
// What plugins exist, learnt from their ELF notes alone: nothing is loaded here.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/plugin/option.h"

namespace dtrain {

struct ComponentInfo {
  std::string kind;
  std::string name;
  std::string tag;
  std::vector<OptionSpec> options;
};

struct PluginInfo {
  std::filesystem::path path;  // absolute
  std::string name;
  std::string version;
  std::string build_id;  // hexadecimal GNU build id; empty when the linker wrote none
  std::vector<ComponentInfo> components;
};

// Decodes the note of one file. std::nullopt: an ELF shared object without our note. UserError: unreadable file (path
// and system text), not an ELF shared object of this machine, damaged note, newer note format.
std::optional<PluginInfo> read_plugin_note(const std::filesystem::path& file);

// A component together with where it comes from. Points into the catalog.
struct CatalogEntry {
  const PluginInfo* plugin = nullptr;
  const ComponentInfo* component = nullptr;
};

// A file that was passed over: it has the name of a shared object but is none, or its note cannot be read.
struct CatalogProblem {
  std::filesystem::path path;
  std::string message;
  std::string hint;
};

// Search order: files named on the command line, then the folders of the recipe's plugins.paths, of DTRAIN_PLUGIN_PATH,
// the user's (~/.local/lib/dtrain/plugins), the installation's. Folders are not searched recursively; of a folder,
// files with the ending .so are read, and those without a note are none of our business. The first folder that has
// (kind, name) wins; the same (kind, name) twice in one folder, or in two named files, is a UserError that names both.
// A file that cannot be read is a UserError where the user named it or its folder (files, required_folders); elsewhere
// it is listed in problems(), so that a broken plugin nobody asked for stops nobody.
class PluginCatalog {
 public:
  struct Places {
    std::vector<std::filesystem::path> files;  // --plugin; each must carry a note
    std::vector<std::filesystem::path>
        folders;  // in order; a missing folder is an error only when `required_folders` has it
    std::vector<std::filesystem::path> required_folders;
  };

  // The places of this process: environment (its folders are required), home and the folder next to the running
  // executable.
  static Places default_places();

  explicit PluginCatalog(Places places);

  // Every component of a kind, by name; in order of name.
  std::vector<CatalogEntry> of_kind(std::string_view kind) const;
  std::optional<CatalogEntry> find(std::string_view kind, std::string_view name) const;
  const std::vector<PluginInfo>& plugins() const { return plugins_; }  // in search order
  const std::vector<CatalogProblem>& problems() const { return problems_; }

 private:
  std::vector<PluginInfo> plugins_;
  std::vector<CatalogProblem> problems_;
};

}  // namespace dtrain
