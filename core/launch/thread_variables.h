// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace dtrain {

// Environment variables from which numeric libraries take a thread count. Threads are part of what decides a run's
// bits, so the recipe alone sets them and the launcher overrides the environment.
inline constexpr std::array<const char*, 3> kThreadVariables = {"OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS",
                                                                "MKL_NUM_THREADS"};

// A line for the user about each variable that says something else than `threads`.
std::vector<std::string> ignored_thread_variables(std::int64_t threads);

}  // namespace dtrain
