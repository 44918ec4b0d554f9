// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <bit>
#include <cmath>
#include <nlohmann/json.hpp>
#include <tuple>

#include <dtrain/error.h>

#include "core/plan/plan.h"

namespace dtrain {
namespace {

using nlohmann::json;

constexpr std::array kTypes = {"boolean", "integer", "real", "string", "integers", "reals", "strings"};

// JSON has no infinity, NaN or negative zero that every reader keeps; their bits go as text.
json write_real(double value) {
  if (std::isfinite(value) && !(value == 0 && std::signbit(value))) return value;
  return std::to_string(std::bit_cast<std::uint64_t>(value));
}

double read_real(const json& value) {
  if (value.is_string()) return std::bit_cast<double>(std::uint64_t{std::stoull(value.get<std::string>())});
  return value.get<double>();
}

struct WriteValue {
  json operator()(double value) const { return write_real(value); }
  json operator()(const std::vector<double>& values) const {
    json out = json::array();
    for (const auto value : values) out.push_back(write_real(value));
    return out;
  }
  template <class T>
  json operator()(const T& value) const {
    return value;
  }
};

json write(const OptionValue& value) {
  return {{"type", kTypes[value.index()]}, {"value", std::visit(WriteValue(), value)}};
}

OptionValue read_value(const json& in) {
  const auto type = in.at("type").get<std::string>();
  const auto& value = in.at("value");
  if (type == "boolean") return value.get<bool>();
  if (type == "integer") return value.get<std::int64_t>();
  if (type == "real") return read_real(value);
  if (type == "string") return value.get<std::string>();
  if (type == "integers") return value.get<std::vector<std::int64_t>>();
  if (type == "strings") return value.get<std::vector<std::string>>();
  DTRAIN_CHECK(type == "reals", type);
  std::vector<double> reals;
  for (const auto& element : value) reals.push_back(read_real(element));
  return reals;
}

json write(const ComponentPlan& component) {
  json options = json::object();
  for (const auto& [name, value] : component.options) options[name] = write(value);
  return {{"kind", component.kind},
          {"name", component.name},
          {"plugin", component.plugin},
          {"build_id", component.build_id},
          {"options", options}};
}

ComponentPlan read_component(const json& in) {
  ComponentPlan out{in.at("kind"), in.at("name"), in.at("plugin"), in.at("build_id"), {}};
  for (const auto& [name, value] : in.at("options").items()) out.options[name] = read_value(value);
  return out;
}

json write(const DataSourcePlan& source) {
  return {{"component", write(source.component)}, {"weight", write_real(source.weight)}};
}

json write(const ParamGroupPlan& group) {
  json out = {{"match", group.match}, {"lr_scale", write_real(group.lr_scale)}, {"frozen", group.frozen}};
  if (group.weight_decay) out["weight_decay"] = write_real(*group.weight_decay);
  return out;
}

ParamGroupPlan read_group(const json& in) {
  ParamGroupPlan out{in.at("match"), read_real(in.at("lr_scale")), std::nullopt, in.at("frozen")};
  if (in.contains("weight_decay")) out.weight_decay = read_real(in.at("weight_decay"));
  return out;
}

json write(const PlanField& field) {
  return {{"key", field.key},
          {"value", write(field.value)},
          {"rule", static_cast<int>(field.rule)},
          {"origin", field.origin}};
}

PlanField read_field(const json& in) {
  return {in.at("key"), read_value(in.at("value")), static_cast<ResumeRule>(in.at("rule").get<int>()), in.at("origin")};
}

template <class T>
json write_list(const std::vector<T>& values) {
  json out = json::array();
  for (const auto& value : values) out.push_back(write(value));
  return out;
}

// The plain members, named once for both directions.
template <class PlanType, class Visit>
void for_each_member(PlanType& p, Visit visit) {
  visit("name", p.name), visit("seed", p.seed), visit("seq_len", p.seq_len), visit("eval_fraction", p.eval_fraction);
  visit("shuffle", p.shuffle), visit("drop_last", p.drop_last), visit("loaders", p.loaders);
  visit("steps", p.steps), visit("epochs", p.epochs), visit("tokens", p.tokens);
  visit("global_batch_size", p.global_batch_size), visit("micro_batch_size", p.micro_batch_size);
  visit("lanes", p.lanes), visit("max_grad_norm", p.max_grad_norm), visit("reduction", p.reduction);
  visit("non_finite", p.non_finite), visit("max_consecutive_skips", p.max_consecutive_skips);
  visit("threads", p.threads), visit("lr", p.lr), visit("weight_decay", p.weight_decay), visit("warmup", p.warmup);
  visit("eval_every", p.eval_every), visit("eval_samples", p.eval_samples);
  visit("checkpoint_every", p.checkpoint_every), visit("keep_last", p.keep_last), visit("keep_best", p.keep_best);
  visit("best_metric", p.best_metric), visit("on_save_error", p.on_save_error), visit("log_every", p.log_every);
  visit("dp", p.dp), visit("ranks", p.ranks), visit("spares", p.spares), visit("grace_s", p.grace_s);
  visit("timeout_s", p.timeout_s), visit("notes", p.notes), visit("recipe", p.recipe);
  visit("identity", p.identity), visit("trajectory", p.trajectory);
}

template <class PlanType, class Visit>
void for_each_component(PlanType& p, Visit visit) {
  visit("model", p.model), visit("loss", p.loss), visit("optimizer", p.optimizer), visit("schedule", p.schedule);
  visit("strategy", p.strategy), visit("comm", p.comm), visit("store", p.store);
}

}  // namespace

std::string to_json(const Plan& plan) {
  json out;
  for_each_member(plan, [&]<class T>(const char* name, const T& value) {
    if constexpr (std::is_same_v<T, double>) {
      out[name] = write_real(value);
    } else if constexpr (std::is_enum_v<T>) {
      out[name] = static_cast<int>(value);
    } else {
      out[name] = value;
    }
  });
  for_each_component(plan, [&](const char* name, const ComponentPlan& component) { out[name] = write(component); });
  if (plan.tokenizer) out["tokenizer"] = write(*plan.tokenizer);
  out["metrics"] = write_list(plan.metrics);
  out["train"] = write_list(plan.train);
  out["eval"] = write_list(plan.eval);
  out["groups"] = write_list(plan.groups);
  out["fields"] = write_list(plan.fields);
  return out.dump();
}

Plan plan_from_json(const std::string& text) {
  const auto in = json::parse(text);
  Plan plan;
  for_each_member(plan, [&]<class T>(const char* name, T& value) {
    if constexpr (std::is_same_v<T, double>) {
      value = read_real(in.at(name));
    } else if constexpr (std::is_enum_v<T>) {
      value = static_cast<T>(in.at(name).get<int>());
    } else {
      value = in.at(name).get<T>();
    }
  });
  for_each_component(plan,
                     [&](const char* name, ComponentPlan& component) { component = read_component(in.at(name)); });
  if (in.contains("tokenizer")) plan.tokenizer = read_component(in.at("tokenizer"));
  const auto sources = [](const json& list) {
    std::vector<DataSourcePlan> out;
    for (const auto& s : list) out.push_back({read_component(s.at("component")), read_real(s.at("weight"))});
    return out;
  };
  for (const auto& metric : in.at("metrics")) plan.metrics.push_back(read_component(metric));
  plan.train = sources(in.at("train"));
  plan.eval = sources(in.at("eval"));
  for (const auto& group : in.at("groups")) plan.groups.push_back(read_group(group));
  for (const auto& field : in.at("fields")) plan.fields.push_back(read_field(field));
  return plan;
}

}  // namespace dtrain
