// SPDX-License-Identifier: Apache-2.0
#include "core/worker/session.h"

#include <algorithm>

#include <dtrain/error.h>

namespace dtrain {
namespace {

std::vector<const ComponentPlan*> components_of(const Plan& plan) {
  std::vector<const ComponentPlan*> all{&plan.model,    &plan.loss, &plan.optimizer, &plan.schedule,
                                        &plan.strategy, &plan.comm, &plan.store};
  if (plan.tokenizer) all.push_back(&*plan.tokenizer);
  for (const auto& metric : plan.metrics) all.push_back(&metric);
  for (const auto* sources : {&plan.train, &plan.eval}) {
    for (const auto& source : *sources) all.push_back(&source.component);
  }
  return all;
}

}  // namespace

std::vector<PluginRecord> load_plugins(const Plan& plan, PluginLoader& loader, const LoadingWatch& watch) {
  std::vector<PluginRecord> records;
  for (const auto* component : components_of(plan)) {
    watch(component->plugin);
    const auto info = read_plugin_note(component->plugin);
    if (!info || info->build_id != component->build_id) {
      throw UserError(component->plugin + ": changed since the plan was made (build id " + component->build_id +
                          " expected, " + (info ? info->build_id : "no plugin") + " found)",
                      "start the command again when the build has finished");
    }
    loader.load(*info);
    watch({});
    const bool known = std::any_of(records.begin(), records.end(),
                                   [&](const PluginRecord& record) { return record.build_id == info->build_id; });
    if (!known) records.push_back({info->name, info->version, info->build_id});
  }
  return records;
}

Session::Session(Plan p, const LoadingWatch& watch) : plan(std::move(p)), workshop(plan.seed) {
  plugins = load_plugins(plan, loader, watch);
  watch(plan.train.front().component.plugin);
  data = open_data(plan, loader);
  watch(plan.model.plugin);
  model = loader.create<ModelKind>(plan.model.name, workshop.build(data.info), plan.model.options);
  watch({});
  loss = loader.create<LossKind>(plan.loss.name, LossContext{&data.info}, plan.loss.options);
  optimizer = loader.create<OptimizerKind>(plan.optimizer.name, OptimizerContext{}, plan.optimizer.options);
  schedule = loader.create<ScheduleKind>(
      plan.schedule.name, ScheduleContext{.total_updates = data.total_steps, .warmup = plan.warmup}, plan.schedule.options);
  for (const auto& metric : plan.metrics) {
    metrics.emplace_back(metric.name,
                         loader.create<MetricKind>(metric.name, MetricContext{&data.info}, metric.options));
  }
  if (parameters() == 0) throw UserError("model '" + plan.model.name + "' has no parameters to train");
}

std::int64_t Session::parameters() const {
  std::int64_t total = 0;
  for (const auto& entry : workshop.parameters().entries()) {
    if (!entry.buffer) total += static_cast<std::int64_t>(entry.elements);
  }
  return total;
}

}  // namespace dtrain
