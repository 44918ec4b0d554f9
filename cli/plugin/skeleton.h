// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

namespace dtrain::cli {

// The kinds for which a skeleton can be written.
std::vector<std::string_view> skeleton_kinds();

// Writes CMakeLists.txt and <name>.cpp of a plugin that builds, and does the simplest right thing of its kind, into
// `folder`, which is made. Returns the files. UserError: unknown kind, a name that is no C++ identifier with '-' or '_'
// between its words, or a file that exists already.
std::vector<std::filesystem::path> write_skeleton(std::string_view kind, std::string_view name,
                                                  const std::filesystem::path& folder);

}  // namespace dtrain::cli
