// SPDX-License-Identifier: Apache-2.0
//
// Named fault points: places where a test can make a process die, stop, throw or wait, at a logical moment. Compiled in
// always; one relaxed load when nothing is armed.
//
// DTRAIN_FAULT="NAME[:step=N][:rank=N][:nth=N]=ACTION[;...]" with ACTION one of kill (SIGKILL), term (SIGTERM), stop (SIGSTOP), abort,
// throw, exit:CODE, killgroup (SIGKILL to the process group). `step` and `rank` must match where given; `nth` counts matching visits from 1 (default 1).
#pragma once

#include <cstdint>
#include <string_view>

namespace dtrain::fault {

// rank and step: -1 when the place has none.
void point(std::string_view name, std::int64_t rank = -1, std::int64_t step = -1);

// Parses the environment; UserError (exit 2) on bad syntax. Called once by each process of a run; tests may call it again.
void arm_from_environment();

}  // namespace dtrain::fault
