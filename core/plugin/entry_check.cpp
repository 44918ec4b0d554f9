// SPDX-License-Identifier: Apache-2.0
#include "core/plugin/entry_check.h"

#include <cstddef>
#include <string_view>

namespace dtrain {
namespace {

constexpr std::uint32_t kEntryVersion = 1;

std::string size_problem(const char* what, std::uint32_t found, std::size_t expected) {
  return std::string(what) + " has " + std::to_string(found) + " bytes, expected at least " + std::to_string(expected);
}

bool differs(const char* text, std::string_view expected) {
  return text == nullptr || text != expected;
}

std::string shown(const char* text) {
  return text == nullptr ? "nothing" : "'" + std::string(text) + "'";
}

std::optional<std::string> component_problem(const dtrain_component& component, const ComponentInfo& note) {
  if (differs(component.kind, note.kind) || differs(component.name, note.name)) {
    return "its entry function and its note disagree: found component " + shown(component.kind) + " " +
           shown(component.name) + ", the note says '" + note.kind + "' '" + note.name + "'";
  }
  if (component.create == nullptr || component.destroy == nullptr) {
    return note.kind + " '" + note.name + "' lacks its create or destroy function";
  }
  return std::nullopt;
}

}  // namespace

const dtrain_component& component_at(const dtrain_plugin& entry, std::uint32_t index) {
  const auto* first = reinterpret_cast<const char*>(entry.components);
  return *reinterpret_cast<const dtrain_component*>(first + std::size_t{index} * entry.components->size);
}

std::optional<std::string> entry_problem(const dtrain_plugin* entry, const PluginInfo& note) {
  if (entry == nullptr) return "its entry function returned nothing";
  if (entry->size < sizeof(dtrain_plugin)) return size_problem("the entry struct", entry->size, sizeof(dtrain_plugin));
  if (entry->version != kEntryVersion) {
    return "its entry struct has version " + std::to_string(entry->version) + ", expected " +
           std::to_string(kEntryVersion);
  }
  if (entry->init == nullptr || entry->shutdown == nullptr) return "it lacks its init or shutdown function";
  if (differs(entry->name, note.name)) {
    return "its entry function and its note disagree: found plugin " + shown(entry->name) + ", the note says '" +
           note.name + "'";
  }
  if (entry->component_count != note.components.size()) {
    return "its entry function and its note disagree: found " + std::to_string(entry->component_count) +
           " components, the note says " + std::to_string(note.components.size());
  }
  if (entry->component_count == 0) return std::nullopt;
  if (entry->components == nullptr) return "its entry struct has no components";
  if (entry->components->size < sizeof(dtrain_component)) {
    return size_problem("a component struct", entry->components->size, sizeof(dtrain_component));
  }
  for (std::uint32_t i = 0; i < entry->component_count; ++i) {
    if (auto problem = component_problem(component_at(*entry, i), note.components[i])) return problem;
  }
  return std::nullopt;
}

}  // namespace dtrain
