// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <system_error>

#include "core/plugin/catalog.h"

namespace dtrain {

PluginCatalog::Places PluginCatalog::default_places() {
  namespace fs = std::filesystem;
  Places places;
  if (const char* list = std::getenv("DTRAIN_PLUGIN_PATH")) {
    std::string_view rest = list;
    while (!rest.empty()) {
      const auto end = std::min(rest.find(':'), rest.size());
      if (end > 0) places.folders.emplace_back(rest.substr(0, end));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    places.required_folders = places.folders;
  }
  if (const char* home = std::getenv("HOME"); home != nullptr && *home == '/') {
    places.folders.push_back(fs::path(home) / ".local/lib/dtrain/plugins");
  }
  std::error_code error;
  const auto executable = fs::read_symlink("/proc/self/exe", error);
  if (!error) {
    places.folders.push_back((executable.parent_path() / DTRAIN_PLUGINS_FROM_BIN).lexically_normal());
  }
  return places;
}

}  // namespace dtrain
