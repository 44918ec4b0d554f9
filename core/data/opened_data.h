// SPDX-License-Identifier: Apache-2.0
//
// A plan's tokenizer and data sets, opened, with the arithmetic over their sizes. Opened once in the host process;
// workers inherit it.
#pragma once

#include <dtrain/data.h>
#include <dtrain/tokenizer.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "core/data/batch_reader.h"
#include "core/data/sampler.h"
#include "core/data/step_layout.h"
#include "core/plan/plan.h"
#include "core/plugin/loader.h"

namespace dtrain {

// Some data sets of one split, and how their samples become steps. Not movable: readers refer to it.
class DataSplit {
 public:
  DataSplit(std::vector<ComponentPtr<DataSet>> sets, Sampler sampler, const StepLayout::Spec& layout);
  DataSplit(const DataSplit&) = delete;
  DataSplit& operator=(const DataSplit&) = delete;

  const Sampler& sampler() const { return sampler_; }
  const StepLayout& layout() const { return layout_; }
  const DataInfo& info() const { return sets_.front()->info(); }
  std::int64_t samples() const;

  BatchAssembler::Setup source(std::uint64_t seed, int rank) const;

 private:
  std::vector<ComponentPtr<DataSet>> sets_;
  Sampler sampler_;
  StepLayout layout_;
};

struct OpenedData {
  ComponentPtr<Tokenizer> tokenizer;  // null when the recipe names none
  std::unique_ptr<DataSplit> train;
  std::unique_ptr<DataSplit> eval;  // null when the recipe evaluates nothing
  DataInfo info;
  std::int64_t total_steps = 0;
};

// The plugins are loaded already. UserError for everything that is wrong with the data: unreadable files, fields that
// differ, an epoch without steps, an empty evaluation set.
OpenedData open_data(const Plan& plan, const PluginLoader& loader);

}  // namespace dtrain
