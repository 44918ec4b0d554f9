// SPDX-License-Identifier: Apache-2.0
#include "core/recipe/json_schema.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "core/recipe/host_tables.h"

namespace dtrain {
namespace {

using json = nlohmann::ordered_json;

const char* rule_text(ResumeRule rule) {
  switch (rule) {
    case ResumeRule::identity:
      return "identity: a change is refused when a run is resumed";
    case ResumeRule::trajectory:
      return "trajectory: a change needs --allow-drift when a run is resumed";
    default:
      return "operational: may change when a run is resumed";
  }
}

json number(const char* type, const OptionSpec& spec) {
  json out = {{"type", type}};
  const auto bound = [&](double value) -> json {
    if (std::string_view(type) == "integer") return static_cast<std::int64_t>(value);
    return value;
  };
  if (std::isfinite(spec.min)) out[spec.exclusive_min ? "exclusiveMinimum" : "minimum"] = bound(spec.min);
  if (std::isfinite(spec.max)) out["maximum"] = bound(spec.max);
  return out;
}

// A number that may also be text: with a unit, or one of a few words.
json or_text(json number, const OptionSpec& spec) {
  if (!spec.unit.empty()) return {{"anyOf", {number, {{"type", "string"}, {"pattern", "^[-+0-9.eE]+ *[A-Za-z]+$"}}}}};
  if (!spec.choices.empty()) return {{"anyOf", {number, {{"enum", spec.choices}}}}};
  return number;
}

json text(const OptionSpec& spec) {
  json out = {{"type", "string"}};
  if (!spec.choices.empty()) out["enum"] = spec.choices;
  return out;
}

json list_of(const json& element) {
  return {{"anyOf", {element, {{"type", "array"}, {"items", element}}}}};
}

json type_schema(const OptionSpec& spec) {
  switch (spec.type) {
    case OptionType::boolean:
      return {{"type", "boolean"}};
    case OptionType::integer:
      return or_text(number("integer", spec), spec);
    case OptionType::real:
      return or_text(number("number", spec), spec);
    case OptionType::integers:
      return list_of(number("integer", spec));
    case OptionType::reals:
      return list_of(number("number", spec));
    case OptionType::strings:
      return list_of(text(spec));
    default:
      return text(spec);
  }
}

json option_schema(const OptionSpec& spec, bool has_default) {
  auto out = type_schema(spec);
  // Not JSON Schema's `required`: a recipe that extends another need not repeat its keys.
  out["description"] = (spec.required ? "(required) " : "") + spec.doc;
  if (has_default && !spec.required) {
    const bool word = spec.type == OptionType::integer && !spec.choices.empty();
    std::visit([&](const auto& value) { out["default"] = value; }, spec.default_value);
    if (word) out["default"] = spec.choices.front();
  }
  if (!spec.unit.empty()) out["unit"] = spec.unit;
  if (spec.path) out["path"] = true;
  out["resume"] = rule_text(spec.rule);
  return out;
}

struct Object {
  json properties = json::object();
  json required = json::array();

  void add(const OptionSpec& spec, bool has_default) { properties[spec.name] = option_schema(spec, has_default); }

  json schema() const {
    json out = {{"type", "object"}, {"properties", properties}};
    if (!required.empty()) out["required"] = required;
    out["additionalProperties"] = false;
    return out;
  }
};

class Writer {
 public:
  explicit Writer(const ComponentSource& components) : components_(components) {}

  json document() const {
    Object root;
    root.properties["schema"] = {{"const", kRecipeSchema}, {"description", "format of the recipe"}};
    root.properties["extends"] = list_of({{"type", "string"}});
    root.properties["extends"]["description"] = "recipes that this one is laid over, relative to it";
    for (const auto& spec : host_tables()) root.properties[spec.name] = table(spec);
    root.required = {"schema"};
    auto out = root.schema();
    out["$schema"] = "https://json-schema.org/draft/2020-12/schema";
    out["title"] = "dtrain recipe";
    return out;
  }

 private:
  json table(const TableSpec& spec) const {
    Object own;
    for (const auto& option : spec.options) own.add(option.spec, option.has_default);
    for (const auto& list : spec.lists) own.properties[list.name] = list_schema(list);
    auto out = with_components(own, spec.component_kind, spec.kind_key);
    out["description"] = spec.doc;
    return out;
  }

  json list_schema(const ListSpec& spec) const {
    Object own;
    for (const auto& option : spec.options) own.add(option.spec, option.has_default);
    auto element = with_components(own, spec.component_kind, "kind");
    if (spec.names) {
      json names = json::array();
      for (const auto& entry : components_.of_kind(spec.component_kind)) names.push_back(entry.component->name);
      element = {{"anyOf", {{{"enum", names}}, element}}};
    }
    auto out = list_of(element);
    out["description"] = spec.doc;
    return out;
  }

  // One alternative for each component that the table may name.
  json with_components(const Object& own, const std::string& kind, const std::string& kind_key) const {
    if (kind.empty()) return own.schema();
    json alternatives = json::array();
    const auto add = [&](const std::string& name, const std::vector<OptionSpec>& options) {
      Object all = own;
      all.properties[kind_key] = {{"const", name}};
      for (const auto& option : options) all.add(option, true);
      alternatives.push_back(all.schema());
    };
    if (kind == "strategy") add("auto", {});
    for (const auto& entry : components_.of_kind(kind)) add(entry.component->name, entry.component->options);
    return {{"anyOf", alternatives}};
  }

  const ComponentSource& components_;
};

}  // namespace

std::string recipe_json_schema(const ComponentSource& components) {
  return Writer(components).document().dump(2);
}

}  // namespace dtrain
