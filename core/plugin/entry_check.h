// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dtrain/plugin.h>

#include <cstdint>
#include <optional>
#include <string>

#include "core/plugin/catalog.h"

namespace dtrain {

// Component `index` of an entry. A newer plugin's structs may be longer than ours: they are stepped over by their own
// size.
const dtrain_component& component_at(const dtrain_plugin& entry, std::uint32_t index);

// Why the description that dtrain_plugin_v1() returned cannot be used together with the note, or nothing. Checks sizes
// before it reads what lies behind them.
std::optional<std::string> entry_problem(const dtrain_plugin* entry, const PluginInfo& note);

}  // namespace dtrain
