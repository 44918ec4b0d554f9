// SPDX-License-Identifier: Apache-2.0
//
// What several data sets have in common.
#pragma once

#include <dtrain/data.h>

#include <span>
#include <string>

namespace dtrain {

// "input I32[128]".
std::string describe(const FieldSpec& field);

struct NamedInfo {
  std::string name;  // as a message should call the data set: "data.train[1] (text)"
  const DataInfo* info = nullptr;
};

// The one DataInfo of all; `sets` is not empty. UserError that lists every difference when they do not agree.
DataInfo common_info(std::span<const NamedInfo> sets);

}  // namespace dtrain
