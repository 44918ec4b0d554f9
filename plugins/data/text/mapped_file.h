// SPDX-License-Identifier: Apache-2.0
//
// A regular file's bytes, mapped for reading.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

class MappedFile {
 public:
  explicit MappedFile(const std::string& path);  // UserError with path and system text
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::string_view text() const { return {data_, size_}; }

 private:
  const char* data_ = nullptr;  // null for an empty file
  std::size_t size_ = 0;
};
