// SPDX-License-Identifier: Apache-2.0
#include "core/worker/run_journal.h"

#include <cmath>
#include <filesystem>

#include <nlohmann/json.hpp>

#include <dtrain/error.h>

#include "core/base/atomic_file.h"
#include "core/base/log.h"

namespace dtrain {
namespace {

namespace fs = std::filesystem;

// JSON has no infinities: they become null.
nlohmann::json number(double value) { return std::isfinite(value) ? nlohmann::json(value) : nlohmann::json(nullptr); }

nlohmann::json object(const MetricValues& values) {
  auto result = nlohmann::json::object();
  for (const auto& [name, value] : values) result[name] = number(value);
  return result;
}

const char* name_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::apply:
      return "";
    case Verdict::skip_empty:
      return "no target counts in this step";
    case Verdict::skip_non_finite:
    case Verdict::diverged:
      return "not finite";
  }
  return "";
}

}  // namespace

RunJournal::RunJournal(Setup setup) : s_(std::move(setup)) {
  if (!writes()) return;
  const fs::path run_dir = s_.seat.run_dir;
  const auto& plan = s_.session->plan;
  write_file_atomically(run_dir / "recipe.toml", plan.recipe);
  const bool resumed = s_.start.step > 0;
  metrics_.emplace(run_dir / "metrics.jsonl", resumed ? s_.start.step : -1);
  ledger_ = open_ledger(run_dir / "ledger", *s_.session, s_.start.step);
}

RunJournal::~RunJournal() = default;

}  // namespace dtrain
