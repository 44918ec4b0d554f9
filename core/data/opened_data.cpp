// SPDX-License-Identifier: Apache-2.0
#include "core/data/opened_data.h"

#include <dtrain/error.h>

#include <algorithm>

#include "core/data/data_info.h"

namespace dtrain {
namespace {

std::vector<ComponentPtr<DataSet>> open_sets(const std::vector<DataSourcePlan>& sources, const DataContext& context,
                                             const PluginLoader& loader) {
  std::vector<ComponentPtr<DataSet>> sets;
  for (const auto& source : sources) {
    sets.push_back(loader.create<DataKind>(source.component.name, context, source.component.options));
  }
  return sets;
}

std::vector<std::int64_t> sizes_of(const std::vector<ComponentPtr<DataSet>>& sets) {
  std::vector<std::int64_t> sizes;
  for (const auto& set : sets) sizes.push_back(set->size());
  return sizes;
}

std::unique_ptr<DataSplit> open_train(const Plan& plan, const DataContext& context, const PluginLoader& loader) {
  auto sets = open_sets(plan.train, context, loader);
  std::vector<Sampler::Source> sources;
  for (std::size_t i = 0; i < sets.size(); ++i) sources.push_back({sets[i]->size(), plan.train[i].weight});
  Sampler sampler(std::move(sources), plan.seed, plan.shuffle);
  const StepLayout::Spec layout{.samples = sampler.epoch_size(),
                                .global_batch = plan.global_batch_size,
                                .micro_batch = plan.micro_batch_size,
                                .lanes = plan.lanes,
                                .drop_last = plan.drop_last};
  return std::make_unique<DataSplit>(std::move(sets), std::move(sampler), layout);
}

std::unique_ptr<DataSplit> open_eval(const Plan& plan, const DataContext& context, const PluginLoader& loader) {
  if (plan.eval.empty() && plan.eval_fraction == 0) return nullptr;
  auto sets = open_sets(plan.eval.empty() ? plan.train : plan.eval, context, loader);
  auto sampler = Sampler::in_order(sizes_of(sets));
  auto samples = sampler.epoch_size();
  if (samples == 0)
    throw UserError("data: the evaluation set has no samples", "raise data.eval_fraction or name data.eval");
  if (plan.eval_samples > 0) samples = std::min(samples, plan.eval_samples);
  const auto spec = StepLayout::single_step(samples, plan.micro_batch_size, plan.lanes).spec();
  return std::make_unique<DataSplit>(std::move(sets), std::move(sampler), spec);
}

}  // namespace

DataSplit::DataSplit(std::vector<ComponentPtr<DataSet>> sets, Sampler sampler, const StepLayout::Spec& layout)
    : sets_(std::move(sets)), sampler_(std::move(sampler)), layout_(layout) {}

std::int64_t DataSplit::samples() const {
  return layout_.spec().samples;
}

BatchAssembler::Setup DataSplit::source(std::uint64_t seed, int rank) const {
  BatchAssembler::Setup setup{.sources = {}, .sampler = &sampler_, .layout = &layout_, .seed = seed, .rank = rank};
  for (const auto& set : sets_) setup.sources.push_back(set.get());
  return setup;
}

OpenedData open_data(const Plan& plan, const PluginLoader& loader) {
  OpenedData data;
  if (plan.tokenizer) {
    data.tokenizer = loader.create<TokenizerKind>(plan.tokenizer->name, TokenizerContext{}, plan.tokenizer->options);
  }
  DataContext context{.split = Split::train,
                      .seed = plan.seed,
                      .seq_len = plan.seq_len,
                      .eval_fraction = plan.eval.empty() ? plan.eval_fraction : 0,
                      .tokenizer = data.tokenizer.get()};
  data.train = open_train(plan, context, loader);
  context.split = Split::eval;
  data.eval = open_eval(plan, context, loader);

  std::vector<NamedInfo> infos;
  auto name = [&infos](const std::vector<DataSourcePlan>& sources, const DataSplit& split, const char* key) {
    const auto sets = split.source(0, 0).sources;
    for (std::size_t i = 0; i < sets.size(); ++i) {
      infos.push_back(
          {std::string(key) + "[" + std::to_string(i) + "] (" + sources[i].component.name + ")", &sets[i]->info()});
    }
  };
  name(plan.train, *data.train, "data.train");
  if (data.eval) name(plan.eval.empty() ? plan.train : plan.eval, *data.eval, "data.eval");
  data.info = common_info(infos);
  data.total_steps = data.train->layout().total_steps(plan.steps, plan.epochs, plan.tokens, data.info.seq_len);
  return data;
}

}  // namespace dtrain
