// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

namespace dtrain::cli {

// The source of a new plugin of one kind; @NAME@ and @CLASS@ stand for the component's name and its class.
struct SkeletonSource {
  std::string_view kind;
  bool torch;
  std::string_view text;
};

std::span<const SkeletonSource> skeleton_sources();

}  // namespace dtrain::cli
