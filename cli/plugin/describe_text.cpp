// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "cli/plugin/describe.h"
#include "cli/plugin/option_words.h"
#include "cli/plugin/text_table.h"
#include "core/plugin/option_check.h"

namespace dtrain::cli {
namespace {

std::string abi_text(const ComponentInfo& component, const HostTags& tags) {
  std::string out;
  for (const auto& difference : tag_differences(component, tags)) {
    out += out.empty() ? "" : "; ";
    out += difference.field == "kind"
               ? "unknown kind"
               : difference.field + ": found " + difference.found + ", expected " + difference.expected;
  }
  return out.empty() ? "ok" : out;
}

std::string allowed_words(const OptionSpec& option) {
  auto words = allowed_text(option);
  if (option.path) words += words.empty() ? "a path" : ", a path";
  return words;
}

std::string component_text(const ComponentInfo& component, const HostTags& tags) {
  std::string out = component.kind + " " + component.name + "\n  ABI " + abi_text(component, tags) + "\n";
  if (component.options.empty()) return out + "  no options\n";
  std::vector<std::vector<std::string>> rows = {
      {"OPTION", "TYPE", "DEFAULT", "ALLOWED", "UNIT", "ON RESUME", "MEANING"}};
  for (const auto& option : component.options) {
    rows.push_back({option.name, std::string(type_word(option.type)),
                    option.required ? "required" : to_text(option.default_value), allowed_words(option), option.unit,
                    std::string(resume_sentence(option.rule)), option.doc});
  }
  return out + text_table(rows, "  ");
}

}  // namespace

std::string list_text(const PluginCatalog& catalog, const HostTags& tags) {
  std::vector<std::vector<std::string>> rows;
  for (const auto& plugin : catalog.plugins()) {
    for (const auto& component : plugin.components) {
      const bool shadowed = catalog.find(component.kind, component.name)->plugin != &plugin;
      rows.push_back({component.kind, component.name, plugin.name, plugin.version,
                      abi_text(component, tags) + (shadowed ? " (shadowed)" : ""), plugin.path.string()});
    }
  }
  std::ranges::stable_sort(rows, {}, [](const auto& row) { return std::pair(row[0], row[1]); });
  rows.insert(rows.begin(), {"KIND", "NAME", "PLUGIN", "VERSION", "ABI", "PATH"});
  auto out = text_table(rows);
  for (const auto& problem : catalog.problems())
    out += "not read: " + problem.message + "\n  hint: " + problem.hint + "\n";
  return out;
}

std::string info_text(const PluginInfo& plugin, const ComponentInfo* component, const HostTags& tags) {
  std::string out = "plugin " + plugin.name + " " + plugin.version + "\n  path " + plugin.path.string() + "\n";
  if (!plugin.build_id.empty()) out += "  build id " + plugin.build_id + "\n";
  for (const auto& one : plugin.components) {
    if (component == nullptr || component == &one) out += "\n" + component_text(one, tags);
  }
  return out;
}

std::string probe_text(const PluginInfo& plugin, const std::vector<ProbeStep>& steps) {
  std::string out = "plugin " + plugin.name + " " + plugin.version + " (" + plugin.path.string() + ")\n";
  for (const auto& step : steps) {
    out += std::string("  ") + std::string(result_word(step.result)) + "  " + step.what;
    if (!step.detail.empty()) out += "\n          " + step.detail;
    out += "\n";
  }
  const auto failed =
      std::ranges::count_if(steps, [](const auto& step) { return step.result == ProbeStep::Result::failed; });
  return out + (failed == 0 ? "nothing failed" : std::to_string(failed) + " failed") +
         "; values and gradients are not checked here\n";
}

}  // namespace dtrain::cli
