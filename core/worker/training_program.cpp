// SPDX-License-Identifier: Apache-2.0
#include "core/worker/training_program.h"

#include <cstdio>

#include <nlohmann/json.hpp>

#include "core/worker/worker.h"

namespace dtrain {
namespace {

std::string mebibytes(double bytes) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.1f MiB", bytes / (1024.0 * 1024.0));
  return text;
}

std::string join(const std::vector<std::string>& items) {
  std::string text;
  for (const auto& item : items) text += (text.empty() ? "" : ", ") + item;
  return text;
}

std::vector<std::string> names(const std::vector<DataSourcePlan>& sources) {
  std::vector<std::string> result;
  for (const auto& source : sources) result.push_back(source.component.name);
  return result;
}

// What the user is shown before the first step.
nlohmann::json settings(const Session& session, const ResumePoint& resume) {
  const auto& plan = session.plan;
  const auto& layout = session.data.train->layout();
  const auto parameters = static_cast<double>(session.parameters());
  const auto slots = static_cast<double>(session.optimizer->slots().size());
  auto rows = nlohmann::json::array();
  auto row = [&rows](const std::string& name, const std::string& value) { rows.push_back({name, value}); };
  row("run", plan.name + ", seed " + std::to_string(plan.seed));
  row("model", plan.model.name + ", " + std::to_string(session.parameters()) + " parameters");
  row("state a rank", mebibytes(parameters * 4 * (1 + slots)) + " (parameters and " +
                          std::to_string(session.optimizer->slots().size()) + " optimizer slots, fp32)");
  row("data", join(names(plan.train)) + ", " + std::to_string(session.data.train->samples()) + " samples an epoch" +
                  (session.data.eval ? ", " + std::to_string(session.data.eval->samples()) + " to evaluate" : ""));
  row("batch", std::to_string(plan.global_batch_size) + " samples a step in micro-batches of " +
                   std::to_string(plan.micro_batch_size) + ", " + std::to_string(plan.lanes) + " lanes");
  row("steps", std::to_string(session.data.total_steps) + " (" + std::to_string(layout.steps_per_epoch()) + " an epoch)");
  row("optimizer", plan.optimizer.name + ", lr " + nlohmann::json(plan.lr).dump() + ", schedule " + plan.schedule.name);
  row("ranks", std::to_string(plan.ranks) + " of " + std::to_string(plan.threads) + " thread(s), strategy " +
                   plan.strategy.name + (plan.ranks > 1 ? ", comm " + plan.comm.name : ""));
  row("start", resume.checkpoint ? "step " + std::to_string(resume.position.step) : "step 0");
  return rows;
}

}  // namespace

std::string TrainingProgram::prepare(const std::string& request_json, const std::string& run_dir, PrepareWatch& watch) {
  auto request = train_request_from_json(request_json);
  session_ = std::make_unique<Session>(request.plan, [&watch](std::string_view file) { watch.loading(file); });
  resume_ = find_resume_point(request, session_->loader, run_dir);
  const nlohmann::json result = {{"settings", settings(*session_, resume_)},
                                 {"notices", resume_.notices},
                                 {"total_steps", session_->data.total_steps},
                                 {"start_step", resume_.position.step},
                                 {"unit", session_->data.info.seq_len > 0 ? "tokens" : "samples"}};
  return result.dump();
}

int TrainingProgram::run_worker(const WorkerSeat& seat, AgentLink& link) {
  return dtrain::run_worker(*session_, resume_, seat, link);
}

}  // namespace dtrain
