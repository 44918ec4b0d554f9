// SPDX-License-Identifier: Apache-2.0
//
// What the verbs that need a model share: the plan of a finished or running job, and the runtime.
#pragma once

#include <string>

namespace dtrain::cli {

// The plan, as JSON and for one rank, of the recipe that is kept with a run directory or a checkpoint folder. UserError: neither
// of the two. Sets the environment that libraries read when they are loaded (threads a rank): call before runtime_entry().
std::string stored_plan(const std::string& target);

}  // namespace dtrain::cli
