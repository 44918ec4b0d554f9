// SPDX-License-Identifier: Apache-2.0
#include "core/launch/thread_variables.h"

#include <cstdlib>

namespace dtrain {

std::vector<std::string> ignored_thread_variables(std::int64_t threads) {
  const auto ours = std::to_string(threads);
  std::vector<std::string> lines;
  for (const char* name : kThreadVariables) {
    const char* value = std::getenv(name);
    if (value == nullptr || value == ours) continue;
    lines.push_back(std::string(name) + "=" + value + " is ignored: threads per rank is train.threads (" + ours + ")");
  }
  return lines;
}

}  // namespace dtrain
