// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <nlohmann/json.hpp>

#include "cli/plugin/describe.h"
#include "cli/plugin/option_words.h"

namespace dtrain::cli {
namespace {

using Json = nlohmann::ordered_json;

// Bytes of a plugin that are no UTF-8 become U+FFFD.
std::string dump(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Json differences_json(const ComponentInfo& component, const HostTags& tags) {
  auto list = Json::array();
  for (const auto& difference : tag_differences(component, tags)) {
    list.push_back({{"field", difference.field}, {"found", difference.found}, {"expected", difference.expected}});
  }
  return list;
}

Json bound_json(double bound) {
  return std::isfinite(bound) ? Json(bound) : Json(nullptr);
}

Json option_json(const OptionSpec& option) {
  Json json = {{"name", option.name}, {"type", type_word(option.type)}};
  json["default"] =
      option.required ? Json(nullptr) : std::visit([](const auto& v) { return Json(v); }, option.default_value);
  json["required"] = option.required;
  json["min"] = bound_json(option.min);
  json["max"] = bound_json(option.max);
  json["exclusive_min"] = option.exclusive_min;
  json["choices"] = option.choices;
  json["unit"] = option.unit;
  json["path"] = option.path;
  json["resume"] = rule_word(option.rule);
  json["doc"] = option.doc;
  return json;
}

Json component_json(const ComponentInfo& component, const HostTags& tags) {
  Json json = {{"kind", component.kind}, {"name", component.name}};
  json["abi_differences"] = differences_json(component, tags);
  json["abi_ok"] = json["abi_differences"].empty();
  json["options"] = Json::array();
  for (const auto& option : component.options) json["options"].push_back(option_json(option));
  return json;
}

}  // namespace

std::string list_json(const PluginCatalog& catalog, const HostTags& tags) {
  Json json = {{"components", Json::array()}, {"problems", Json::array()}};
  for (const auto& plugin : catalog.plugins()) {
    for (const auto& component : plugin.components) {
      Json line = {{"kind", component.kind},    {"name", component.name},       {"plugin", plugin.name},
                   {"version", plugin.version}, {"path", plugin.path.string()}, {"build_id", plugin.build_id}};
      line["abi_differences"] = differences_json(component, tags);
      line["abi_ok"] = line["abi_differences"].empty();
      line["shadowed"] = catalog.find(component.kind, component.name)->plugin != &plugin;
      json["components"].push_back(std::move(line));
    }
  }
  for (const auto& problem : catalog.problems()) {
    json["problems"].push_back({{"path", problem.path.string()}, {"message", problem.message}, {"hint", problem.hint}});
  }
  return dump(json);
}

std::string info_json(const PluginInfo& plugin, const ComponentInfo* component, const HostTags& tags) {
  Json json = {{"plugin", plugin.name},
               {"version", plugin.version},
               {"path", plugin.path.string()},
               {"build_id", plugin.build_id},
               {"components", Json::array()}};
  for (const auto& one : plugin.components) {
    if (component == nullptr || component == &one) json["components"].push_back(component_json(one, tags));
  }
  return dump(json);
}

std::string probe_json(const PluginInfo& plugin, const std::vector<ProbeStep>& steps) {
  Json json = {{"path", plugin.path.string()},
               {"plugin", plugin.name},
               {"version", plugin.version},
               {"passed", all_passed(steps)},
               {"steps", Json::array()}};
  for (const auto& step : steps) {
    auto word = result_word(step.result);
    word = word.substr(0, word.find(' '));
    json["steps"].push_back({{"what", step.what}, {"result", word}, {"detail", step.detail}});
  }
  return dump(json);
}

}  // namespace dtrain::cli
