// SPDX-License-Identifier: Apache-2.0
#include "core/worker/run_journal.h"

#include <cmath>
#include <filesystem>

#include <nlohmann/json.hpp>

#include <dtrain/error.h>

#include "core/base/atomic_file.h"

namespace dtrain {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// JSON has no infinities: they become null.
json number(double value) { return std::isfinite(value) ? json(value) : json(nullptr); }

json object(const MetricValues& values) {
  auto result = json::object();
  for (const auto& [name, value] : values) result[name] = number(value);
  return result;
}

const char* name_of(RunEnd end) {
  switch (end) {
    case RunEnd::completed:
      return "completed";
    case RunEnd::stopped:
      return "stopped";
    case RunEnd::diverged:
      return "diverged";
  }
  return "";
}

}  // namespace

RunJournal::RunJournal(Setup setup) : s_(std::move(setup)), saved_step_(s_.start.step) {
  if (!writes()) return;
  const fs::path run_dir = s_.seat.run_dir;
  const auto& data = *s_.session->data.train;
  write_file_atomically(run_dir / "recipe.toml", s_.session->plan.recipe);
  ledger_ = std::make_unique<LedgerWriter>(run_dir, LedgerHeader::of(data.sampler(), data.layout()), s_.start.step);
  metrics_.emplace(run_dir / "metrics.jsonl", s_.start.step > 0 ? s_.start.step : -1);
}

RunJournal::~RunJournal() = default;

void RunJournal::report(const json& object, bool event) { s_.link->report(object.dump(), event); }

void RunJournal::phase(std::string_view phase, std::int64_t step) { s_.link->phase(phase, step); }

double RunJournal::data_wait_ms() { return s_.feed->take_wait_ms(); }

void RunJournal::stepped(std::int64_t step, const StepOutcome& outcome, double lr, const StepTiming& timing) {
  if (!writes()) return;
  std::vector<LedgerEntry> entries;
  for (const auto& record : outcome.records) {
    entries.push_back({record.index, record.rank, s_.seat.generation, record.samples, record.ids_hash});
  }
  ledger_->append(step, entries);

  const auto& plan = s_.session->plan;
  const auto seq_len = s_.session->data.info.seq_len;
  const bool skipped = outcome.verdict != Verdict::apply;
  samples_ += outcome.samples;
  skipped_ += skipped ? 1 : 0;
  last_loss_ = outcome.loss;
  if (!outcome.non_finite.empty() || outcome.verdict == Verdict::skip_empty) {
    const bool fatal = outcome.verdict == Verdict::diverged;
    report({{"event", fatal ? "diverged" : "skipped"},
            {"step", step},
            {"reason", outcome.non_finite.empty() ? "no target counts in this step" : outcome.non_finite}},
           true);
  }
  const bool last = step == s_.session->data.total_steps;
  if (step % plan.log_every != 0 && !last && !skipped) return;
  const auto tokens = outcome.samples * seq_len;
  json line = {{"event", "step"},
               {"step", step},
               {"epoch", s_.session->data.train->layout().step(step - 1).epoch},
               {"loss", number(outcome.loss)},
               {"lr", lr},
               {"grad_norm", number(outcome.grad_norm)},
               {"samples", outcome.samples},
               {"tokens", tokens},
               {"tokens_per_s", number(static_cast<double>(tokens) * 1000 / timing.step_ms)},
               {"samples_per_s", number(static_cast<double>(outcome.samples) * 1000 / timing.step_ms)},
               {"step_ms", timing.step_ms},
               {"data_ms", timing.data_ms},
               {"comm_ms", timing.comm_ms},
               {"world", s_.seat.world},
               {"generation", s_.seat.generation},
               {"skipped", skipped}};
  metrics_->write(line.dump());
  report(line, false);
}

void RunJournal::evaluated(std::int64_t step, const MetricValues& values) {
  last_metrics_ = values;
  if (!writes()) return;
  const json line = {{"event", "eval"}, {"step", step}, {"metrics", object(values)}};
  metrics_->write(line.dump());
  report(line, false);
}

void RunJournal::save(const TrainPosition& position, const MetricValues& newest_metrics) {
  std::string ledger;
  if (writes()) {
    ledger_->sync();  // before the checkpoint that covers it
    ledger = ledger_->position_json();
  }
  const auto outcome = s_.checkpointer->save(position, newest_metrics, ledger);
  if (outcome.error.empty()) {
    saved_step_ = position.step;
    if (!writes()) return;
    report({{"event", "save"},
            {"step", position.step},
            {"checkpoint", outcome.folder},
            {"seconds", outcome.seconds},
            {"removed", outcome.removed}},
           true);
    return;
  }
  if (s_.session->plan.on_save_error == OnSaveError::stop) {
    throw UserError("the checkpoint of step " + std::to_string(position.step) + " could not be saved: " + outcome.error,
                    (saved_step_ > 0 ? "the checkpoint of step " + std::to_string(saved_step_) + " is intact; "
                                     : std::string()) +
                        "mend the cause and start the same command again, or set checkpoint.on_error = \"retry\"",
                    {}, 1);
  }
  if (writes()) report({{"event", "save_failed"}, {"step", position.step}, {"error", outcome.error}}, true);
}

void RunJournal::finish(RunEnd end, const TrainPosition& position) {
  if (!writes()) return;
  ledger_->sync();
  json line = {{"event", "summary"},
               {"end", name_of(end)},
               {"step", position.step},
               {"updates", position.updates},
               {"total_steps", s_.session->data.total_steps},
               {"steps_here", position.step - s_.start.step},
               {"samples", samples_},
               {"skipped", skipped_},
               {"loss", number(last_loss_)},
               {"metrics", object(last_metrics_)},
               {"checkpoint", saved_step_ > 0 ? checkpoint_folder(saved_step_) : ""},
               {"run_dir", s_.seat.run_dir}};
  report(line, true);
}

}  // namespace dtrain
