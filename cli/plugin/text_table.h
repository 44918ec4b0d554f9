// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace dtrain::cli {

// Rows of equal length as lines, columns two blanks apart and as wide as their widest cell; no blanks at the end of a
// line. Width is counted in UTF-8 code points.
std::string text_table(const std::vector<std::vector<std::string>>& rows, std::string_view indent = {});

}  // namespace dtrain::cli
