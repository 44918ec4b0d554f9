// SPDX-License-Identifier: Apache-2.0
//
// What the host process prepares once and every worker inherits by fork: loaded plugins, opened data, the built (not yet
// initialised) model, and where to resume. Everything that can be wrong with a run is found here, before any worker exists.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <dtrain/loss.h>
#include <dtrain/metric.h>
#include <dtrain/model.h>
#include <dtrain/optimizer.h>
#include <dtrain/schedule.h>
#include <dtrain/store.h>

#include "core/ckpt/checkpoint_store.h"
#include "core/data/opened_data.h"
#include "core/nn/model_workshop.h"
#include "core/plan/plan.h"
#include "core/plugin/loader.h"

namespace dtrain {

// Told before a plugin's code runs (its file), and after (an empty name).
using LoadingWatch = std::function<void(std::string_view plugin_file)>;

// Loads every plugin of the plan. UserError as PluginLoader::load says, or when a file changed since the plan was made.
std::vector<PluginRecord> load_plugins(const Plan& plan, PluginLoader& loader, const LoadingWatch& watch);

// The objects of a run that do not depend on rank or world size. Members in order of construction.
struct Session {
  Session(Plan plan, const LoadingWatch& watch);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  Plan plan;
  PluginLoader loader;
  std::vector<PluginRecord> plugins;
  OpenedData data;
  ModelWorkshop workshop;
  ComponentPtr<Model> model;
  ComponentPtr<Loss> loss;
  ComponentPtr<Optimizer> optimizer;
  ComponentPtr<Schedule> schedule;
  std::vector<std::pair<std::string, ComponentPtr<Metric>>> metrics;

  std::int64_t parameters() const;  // elements that are trained
};

}  // namespace dtrain
