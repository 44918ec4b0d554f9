// SPDX-License-Identifier: Apache-2.0
//
// Tries a plugin out in a process of its own: what can be checked about it without training.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "core/plugin/catalog.h"
#include "core/plugin/host_tags.h"

namespace dtrain {

struct ProbeStep {
  enum class Result { passed, failed, skipped };
  std::string what;  // "loads", "schedule 'cosine': made with its defaults"
  Result result = Result::passed;
  std::string detail;  // why it failed or was skipped
};

// Tags, defaults inside their own limits, loading, init, making and destroying each component of a kind that needs
// neither libtorch nor a running job, and what its contract says of it at rest; shutdown. Forks: the caller has one
// thread. The child's output goes to stderr. A child that dies or takes longer than `limit` fails the step it was in.
std::vector<ProbeStep> probe_plugin(const PluginInfo& plugin, const HostTags& tags = host_tags(),
                                    std::chrono::seconds limit = std::chrono::seconds(60));

bool all_passed(const std::vector<ProbeStep>& steps);  // skipped ones do not count

}  // namespace dtrain
