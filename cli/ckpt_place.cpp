// SPDX-License-Identifier: Apache-2.0
#include "cli/ckpt_place.h"

#include <dtrain/error.h>

#include <filesystem>
#include <system_error>

#include "core/ckpt/manifest.h"
#include "core/plugin/catalog.h"

namespace dtrain::cli {
namespace {

namespace fs = std::filesystem;

bool holds_checkpoints(const fs::path& folder) {
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().filename().string().starts_with("step-")) return true;
  }
  return false;
}

}  // namespace

CheckpointPlace open_place(const std::string& path) {
  std::error_code error;
  const auto status = fs::status(path, error);
  if (!fs::exists(status)) {
    throw UserError("cannot open " + path + ": " +
                    (error ? error : std::make_error_code(std::errc::no_such_file_or_directory)).message());
  }
  auto root = fs::absolute(path).lexically_normal();
  if (!root.has_filename()) root = root.parent_path();
  CheckpointPlace place;
  place.single = fs::exists(root / kManifestName);
  if (fs::is_directory(root / "checkpoints") && !place.single) {
    root /= "checkpoints";
  } else if (!place.single && !(fs::is_directory(status) && holds_checkpoints(root))) {
    throw UserError(path + " is neither a run directory nor a checkpoint: it has no folder 'checkpoints' and no " +
                        std::string(kManifestName),
                    "name the folder given as --run-dir, or a folder step-* in its 'checkpoints'");
  }
  place.root = root.string();
  const PluginCatalog catalog(PluginCatalog::default_places());
  const auto found = catalog.find(StoreKind::name, "local");
  if (!found) throw UserError("the plugin of the store 'local' is not installed", "`dtrain plugin list` shows what is");
  place.loader = std::make_unique<PluginLoader>();
  place.loader->load(*found->plugin);
  place.store = place.loader->create<StoreKind>("local", StoreContext{place.root}, {});
  return place;
}

}  // namespace dtrain::cli
