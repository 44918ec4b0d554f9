// SPDX-License-Identifier: Apache-2.0
#include "core/base/line_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>

namespace dtrain {
namespace {

// The length of the file up to and with its last newline.
off_t whole_lines(int fd, off_t size) {
  std::array<char, 4096> buffer;
  for (off_t end = size; end > 0;) {
    const auto length = std::min<off_t>(end, static_cast<off_t>(buffer.size()));
    const auto n = ::pread(fd, buffer.data(), static_cast<std::size_t>(length), end - length);
    if (n != length) return size;
    for (auto i = n; i > 0; --i) {
      if (buffer[static_cast<std::size_t>(i - 1)] == '\n') return end - length + i;
    }
    end -= length;
  }
  return 0;
}

}  // namespace

LineFile::LineFile(const std::filesystem::path& path)
    : fd_(::open(path.c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0666)) {
  if (!fd_.valid()) throw std::system_error(errno, std::generic_category(), path.string());
  const off_t size = ::lseek(fd_.get(), 0, SEEK_END);
  const off_t whole = whole_lines(fd_.get(), size);
  if (whole != size && ::ftruncate(fd_.get(), whole) != 0) {
    throw std::system_error(errno, std::generic_category(), path.string());
  }
}

bool LineFile::append(std::string_view lines) {
  while (!lines.empty()) {
    const auto n = ::write(fd_.get(), lines.data(), lines.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    lines.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

}  // namespace dtrain
