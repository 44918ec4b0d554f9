// SPDX-License-Identifier: Apache-2.0
//
// What plugins there are and what they offer, as text for people and as JSON for scripts.
#pragma once

#include <string>

#include "core/plugin/catalog.h"
#include "core/plugin/host_tags.h"
#include "core/plugin/probe.h"

namespace dtrain::cli {

// One line a component. JSON: {"components": [{kind, name, plugin, version, path, build_id, abi_ok, abi_differences,
// shadowed}], "problems": [{path, message, hint}]}. `shadowed`: a plugin earlier in the search order offers the same
// name.
std::string list_text(const PluginCatalog& catalog, const HostTags& tags);
std::string list_json(const PluginCatalog& catalog, const HostTags& tags);

// Components with their options. JSON: {plugin, version, path, build_id, components: [{kind, name, abi_ok,
// abi_differences, options: [{name, type, default, required, min, max, exclusive_min, choices, unit, path, resume,
// doc}]}]}; an open bound is null. `component` null: all of the plugin's.
std::string info_text(const PluginInfo& plugin, const ComponentInfo* component, const HostTags& tags);
std::string info_json(const PluginInfo& plugin, const ComponentInfo* component, const HostTags& tags);

// JSON: {path, plugin, version, passed, steps: [{what, result, detail}]}.
std::string probe_text(const PluginInfo& plugin, const std::vector<ProbeStep>& steps);
std::string probe_json(const PluginInfo& plugin, const std::vector<ProbeStep>& steps);

}  // namespace dtrain::cli
