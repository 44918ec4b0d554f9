// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

#include "core/plugin/loader.h"

namespace dtrain {

// Makes a component with its default options, exercises it and destroys it. Returns an empty text, or why it was
// skipped. Throws what the component throws, and std::runtime_error where it breaks its kind's contract.
using Trial = std::function<std::string(const PluginLoader&, const ComponentInfo&)>;

// Empty for a kind that cannot be tried outside a run; `trial_obstacle` then says why.
Trial trial_of(std::string_view kind);
std::string trial_obstacle(std::string_view kind);

}  // namespace dtrain
