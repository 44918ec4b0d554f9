// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string_view>

#include "core/base/unique_fd.h"

namespace dtrain {

// A file of whole lines that is only appended to: JSON lines, logs. Opening it cuts off a half-written last line, which
// a killed writer may have left, so that it is never glued to the next. One writer.
class LineFile {
 public:
  LineFile() = default;
  explicit LineFile(const std::filesystem::path& path);  // std::system_error with the path

  bool open() const { return fd_.valid(); }

  // Appends text that ends with a newline. False, with errno set, when the disk refused some of it.
  bool append(std::string_view lines);

 private:
  UniqueFd fd_;
};

}  // namespace dtrain
