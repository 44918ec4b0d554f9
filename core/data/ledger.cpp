// SPDX-License-Identifier: Apache-2.0
#include "core/data/ledger.h"

namespace dtrain {

LedgerHeader LedgerHeader::of(const Sampler& sampler, const StepLayout& layout) {
  const auto& spec = layout.spec();
  return {.sources = {sampler.sources().begin(), sampler.sources().end()},
          .seed = sampler.seed(),
          .shuffle = sampler.shuffle(),
          .drop_last = spec.drop_last,
          .global_batch = spec.global_batch,
          .micro_batch = spec.micro_batch,
          .lanes = spec.lanes};
}

StepLayout LedgerHeader::layout(const Sampler& sampler) const {
  return StepLayout({.samples = sampler.epoch_size(),
                     .global_batch = global_batch,
                     .micro_batch = micro_batch,
                     .lanes = lanes,
                     .drop_last = drop_last});
}

std::filesystem::path ledger_file(const std::filesystem::path& run_dir) {
  return run_dir / "ledger" / "ledger.jsonl";
}

}  // namespace dtrain
