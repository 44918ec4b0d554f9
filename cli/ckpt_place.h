// SPDX-License-Identifier: Apache-2.0
//
// From a path on the command line to a store of checkpoints.
#pragma once

#include <dtrain/store.h>

#include <functional>
#include <memory>
#include <string>

#include "core/plugin/loader.h"

namespace dtrain::cli {

struct CheckpointPlace {
  std::unique_ptr<PluginLoader> loader;  // before the store, which lives in its plugin
  ComponentPtr<Store> store;
  std::string root;     // the store's root
  bool single = false;  // the root is one checkpoint; else it holds those of a run
};

// `path` is a checkpoint (a folder with a manifest), a run directory (a folder with `checkpoints`) or the folder of a
// run's checkpoints. UserError: missing (path and system text), or none of these. Opens it with the plugin of the
// `local` store.
CheckpointPlace open_place(const std::string& path);

}  // namespace dtrain::cli
