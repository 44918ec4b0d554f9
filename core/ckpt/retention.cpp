// SPDX-License-Identifier: Apache-2.0
#include <dtrain/error.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "core/base/fault.h"
#include "core/ckpt/checkpoint_store.h"

namespace dtrain {
namespace {

// Steps of the best `count`, the newer one first among equals. Checkpoints whose manifest cannot be read are never
// best.
std::set<std::int64_t> best_of(const CheckpointStore& store, const std::vector<CheckpointInfo>& newest_first,
                               const Retention& retention) {
  struct Scored {
    double score;  // smaller is better
    std::int64_t step;
  };
  std::vector<Scored> scored;
  for (const auto& info : newest_first) {
    try {
      const auto checkpoint = store.open(info.step);
      const auto& metrics = checkpoint.manifest().metrics;
      const auto it = metrics.find(retention.metric);
      if (it == metrics.end() || std::isnan(it->second)) continue;
      scored.push_back({retention.higher_is_better ? -it->second : it->second, info.step});
    } catch (const UserError&) {
    }
  }
  std::ranges::stable_sort(scored, {}, &Scored::score);
  std::set<std::int64_t> steps;
  for (std::size_t i = 0; i < scored.size() && i < static_cast<std::size_t>(retention.keep_best); ++i) {
    steps.insert(scored[i].step);
  }
  return steps;
}

}  // namespace

PruneReport CheckpointStore::prune(const Retention& retention) {
  DTRAIN_CHECK(retention.keep_last >= 0 && retention.keep_best >= 0);
  PruneReport report;
  auto all = list();
  std::erase_if(all, [](const auto& info) { return !info.complete; });
  std::ranges::reverse(all);
  // One that was damaged while this process did not look must not push out the last good one, so the newest is read
  // back.
  const auto newest = newest_verified();
  for (const auto& skipped : newest.skipped) {
    const bool complete = std::ranges::any_of(all, [&](const auto& info) { return info.folder == skipped.folder; });
    if (complete) report.damaged.push_back(skipped);
  }
  if (!newest.checkpoint) return report;
  const auto newest_step = newest.checkpoint->manifest().step;
  std::erase_if(all, [&](const auto& info) { return info.step > newest_step; });
  const auto best = retention.keep_best > 0 ? best_of(*this, all, retention) : std::set<std::int64_t>();
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i == 0 || i < static_cast<std::size_t>(retention.keep_last) || best.contains(all[i].step)) {
      report.kept.push_back(all[i].folder);
      continue;
    }
    fault::point("ckpt.prune", 0, all[i].step);
    store_.remove(all[i].folder);
    report.removed.push_back(all[i].folder);
  }
  return report;
}

}  // namespace dtrain
