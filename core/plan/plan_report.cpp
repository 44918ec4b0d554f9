// SPDX-License-Identifier: Apache-2.0
#include "core/plan/plan_report.h"

#include <nlohmann/json.hpp>
#include <set>

#include "core/plan/lanes.h"
#include "core/plan/plan_fields.h"
#include "core/recipe/toml_text.h"

namespace dtrain {
namespace {

std::string text(std::int64_t value) {
  return std::to_string(value);
}

std::string plural(std::int64_t count, const std::string& noun, const std::string& ending = "s") {
  return text(count) + " " + noun + (count == 1 ? "" : ending);
}

std::int64_t micro_batches(const Plan& plan) {
  return plan.global_batch_size / plan.micro_batch_size;
}

std::int64_t tokens_per_step(const Plan& plan) {
  return plan.global_batch_size * plan.seq_len;
}

// The steps of a run, where the recipe alone decides them.
std::int64_t total_steps(const Plan& plan) {
  if (plan.steps > 0) return plan.steps;
  if (plan.tokens > 0) return (plan.tokens + tokens_per_step(plan) - 1) / tokens_per_step(plan);
  return 0;
}

std::int64_t most_lanes(const Plan& plan) {
  return part_of(plan.lanes, plan.ranks, 0).count;
}

// "6, 5, 5": of at most the first few ranks.
std::string lanes_of_ranks(const Plan& plan) {
  constexpr std::int64_t kShown = 16;
  std::string out;
  for (std::int64_t rank = 0; rank < std::min(plan.ranks, kShown); ++rank)
    out += (rank == 0 ? "" : ", ") + text(part_of(plan.lanes, plan.ranks, rank).count);
  return plan.ranks > kShown ? out + ", ..." : out;
}

std::string micro_batches_of_lanes(const Plan& plan) {
  const auto most = part_of(micro_batches(plan), plan.lanes, 0).count;
  const auto least = part_of(micro_batches(plan), plan.lanes, plan.lanes - 1).count;
  return least == most ? text(most) : text(least) + " or " + text(most);
}

std::string micro_batches_of_ranks(const Plan& plan) {
  std::int64_t least = micro_batches(plan), most = 0;
  for (std::int64_t rank = 0; rank < plan.ranks; ++rank) {
    const auto own = part_of(plan.lanes, plan.ranks, rank);
    std::int64_t count = 0;
    for (auto lane = own.begin; lane < own.begin + own.count; ++lane)
      count += part_of(micro_batches(plan), plan.lanes, lane).count;
    least = std::min(least, count);
    most = std::max(most, count);
  }
  return least == most ? text(most) : text(least) + " to " + text(most);
}

std::string length(const Plan& plan) {
  const auto steps = total_steps(plan);
  if (plan.epochs > 0)
    return "length    " + plural(plan.epochs, "epoch") + "; steps an epoch = samples / " +
           text(plan.global_batch_size) + ", rounded up";
  std::string out = "length    " + plural(steps, "step");
  if (plan.tokens > 0) out += " = " + text(plan.tokens) + " tokens / " + text(tokens_per_step(plan)) + ", rounded up";
  out += " = " + text(steps * plan.global_batch_size) + " samples";
  if (plan.seq_len > 0) out += " = " + text(steps * tokens_per_step(plan)) + " tokens";
  return out;
}

std::vector<const ComponentPlan*> components(const Plan& plan) {
  std::vector<const ComponentPlan*> out = {&plan.model, &plan.loss};
  if (plan.tokenizer) out.push_back(&*plan.tokenizer);
  for (const auto& source : plan.train) out.push_back(&source.component);
  for (const auto& source : plan.eval) out.push_back(&source.component);
  for (const auto* component : {&plan.optimizer, &plan.schedule}) out.push_back(component);
  for (const auto& metric : plan.metrics) out.push_back(&metric);
  for (const auto* component : {&plan.strategy, &plan.comm, &plan.store}) out.push_back(component);
  return out;
}

}  // namespace

std::vector<PlanRow> plan_rows(const Plan& plan) {
  std::vector<PlanRow> out;
  for (const auto& field : plan.fields) out.push_back({field.key, toml_text(field.value), field.origin});
  return out;
}

std::vector<std::string> plan_summary(const Plan& plan) {
  std::vector<std::string> out;
  out.push_back("mesh      pp 1 x dp " + text(plan.ranks) + " x tp 1: " + plural(plan.ranks, "rank") +
                (plan.spares > 0 ? " and " + plural(plan.spares, "spare") : ""));
  out.push_back("batch     " + plural(plan.global_batch_size, "sample") + " a step / " + text(plan.micro_batch_size) +
                " a micro-batch = " + plural(micro_batches(plan), "micro-batch", "es") + " a step" +
                (plan.seq_len > 0
                     ? "; x " + text(plan.seq_len) + " tokens = " + text(tokens_per_step(plan)) + " tokens a step"
                     : ""));
  out.push_back("lanes     " + plural(plan.lanes, "lane") + " of " + micro_batches_of_lanes(plan) +
                " micro-batches; ranks own " + lanes_of_ranks(plan) + " lanes and accumulate " +
                micro_batches_of_ranks(plan) + " micro-batches a step");
  out.push_back(length(plan));
  out.push_back("memory    " + plural(gradient_buffers(most_lanes(plan)), "gradient buffer") + " a rank = ceil(log2(" +
                text(most_lanes(plan)) + " lanes)) + 1");
  std::set<std::string> seen;
  for (const auto* component : components(plan)) {
    if (!seen.insert(component->kind + "/" + component->name).second) continue;
    out.push_back("plugin    " + component->kind + " " + component->name + ": " + component->plugin);
  }
  out.push_back("identity  " + plan.identity);
  out.push_back("trajectory " + plan.trajectory);
  return out;
}

std::string plan_report_json(const Plan& plan) {
  using nlohmann::json;
  json fields = json::array();
  for (const auto& field : plan.fields) {
    json value;
    std::visit([&](const auto& v) { value = v; }, field.value);
    fields.push_back({{"key", field.key}, {"value", value}, {"rule", rule_name(field.rule)}, {"origin", field.origin}});
  }
  json lanes = json::array();
  for (std::int64_t rank = 0; rank < plan.ranks; ++rank) {
    const auto own = part_of(plan.lanes, plan.ranks, rank);
    lanes.push_back({{"rank", rank},
                     {"first_lane", own.begin},
                     {"lanes", own.count},
                     {"gradient_buffers", gradient_buffers(own.count)}});
  }
  json plugins = json::array();
  for (const auto* component : components(plan)) {
    plugins.push_back({{"kind", component->kind},
                       {"name", component->name},
                       {"path", component->plugin},
                       {"build_id", component->build_id}});
  }
  json out = {{"name", plan.name},
              {"fields", fields},
              {"mesh", {{"pp", 1}, {"dp", plan.ranks}, {"tp", 1}}},
              {"ranks", lanes},
              {"batch",
               {{"global_batch_size", plan.global_batch_size},
                {"micro_batch_size", plan.micro_batch_size},
                {"micro_batches", micro_batches(plan)},
                {"lanes", plan.lanes},
                {"tokens_per_step", tokens_per_step(plan)}}},
              {"plugins", plugins},
              {"notes", plan.notes},
              {"identity", plan.identity},
              {"trajectory", plan.trajectory},
              {"recipe", plan.recipe}};
  if (total_steps(plan) > 0) out["batch"]["total_steps"] = total_steps(plan);
  return out.dump();
}

}  // namespace dtrain
