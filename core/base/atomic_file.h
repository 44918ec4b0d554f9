// SPDX-License-Identifier: Apache-2.0
//
// Files that exist wholly or not at all.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string_view>

namespace dtrain {

// Writes `bytes` beside `path`, syncs, renames over `path` and syncs the folder, so that after a crash at any moment
// `path` holds either its old or its new content. The folder must exist. UserError (exit code 1) with path, system text
// and the number of bytes; `path` is then unchanged and the file beside it removed.
void write_file_atomically(const std::filesystem::path& path, std::span<const std::byte> bytes);
void write_file_atomically(const std::filesystem::path& path, std::string_view text);

}  // namespace dtrain
