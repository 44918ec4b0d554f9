// SPDX-License-Identifier: Apache-2.0
//
// What the host process prepares once and every worker inherits by fork: loaded plugins, opened data, the built (not yet
// initialised) model, and where to resume. Everything that can be wrong with a run is found here, before any worker exists.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <dtrain/loss.h>
#include <dtrain/metric.h>
#include <dtrain/model.h>
#include <dtrain/optimizer.h>
#include <dtrain/schedule.h>
#include <dtrain/store.h>
#include <dtrain/tokenizer.h>

#include "core/ckpt/checkpoint_store.h"
#include "core/nn/parameter_table.h"
#include "core/nn/services.h"
#include "core/plan/run_request.h"
#include "core/plugin/loader.h"

namespace dtrain {

// A plan's components, alive. Order of members is order of construction.
struct Components {
  PluginLoader loader;
  std::vector<PluginRecord> plugins;  // what was loaded, for the manifest
  ComponentPtr<Tokenizer> tokenizer;  // null when the recipe names none
};

}  // namespace dtrain
