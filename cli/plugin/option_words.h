// SPDX-License-Identifier: Apache-2.0
//
// The words that text and JSON share.
#pragma once

#include <dtrain/schema.h>

#include <string_view>

#include "core/plugin/probe.h"

namespace dtrain::cli {

constexpr std::string_view type_word(OptionType type) {
  constexpr std::string_view words[] = {"boolean", "integer", "real", "string", "integers", "reals", "strings"};
  return words[static_cast<int>(type)];
}

constexpr std::string_view rule_word(ResumeRule rule) {
  constexpr std::string_view words[] = {"identity", "trajectory", "operational"};
  return words[static_cast<int>(rule)];
}

// What a change of the option means for a resumed run.
constexpr std::string_view resume_sentence(ResumeRule rule) {
  constexpr std::string_view words[] = {"refused", "needs --allow-drift", "free"};
  return words[static_cast<int>(rule)];
}

constexpr std::string_view result_word(ProbeStep::Result result) {
  constexpr std::string_view words[] = {"passed ", "failed ", "skipped"};
  return words[static_cast<int>(result)];
}

}  // namespace dtrain::cli
