// SPDX-License-Identifier: Apache-2.0
//
// This rank's gradient buffers and their in-place folding along the lane tree.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include <dtrain/strategy.h>

#include "core/comm/lane_tree.h"
#include "core/comm/reducer.h"
#include "core/state/flat_layout.h"
#include "core/state/state_arena.h"

namespace dtrain {
}
