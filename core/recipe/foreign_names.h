// SPDX-License-Identifier: Apache-2.0
//
// What other trainers call things that dtrain's recipes have under another name.
#pragma once

#include <span>
#include <string_view>

namespace dtrain {

struct ForeignName {
  std::string_view name;
  std::string_view ours;      // dotted; empty: there is none
  std::string_view sentence;  // what differs; may be empty
};

std::span<const ForeignName> foreign_names();
const ForeignName* foreign_name(std::string_view name);  // exact, but for case and '-'

}  // namespace dtrain
