// SPDX-License-Identifier: Apache-2.0
//
// Files with errors that name path, operation and the system's text. All throw RecoverableError (store_unavailable).
#pragma once

#include <dtrain/error.h>
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

namespace dtrain::posix {

[[noreturn]] inline void fail(const std::string& what, int error) {
  throw RecoverableError(RecoverableError::Kind::store_unavailable,
                         "store local: cannot " + what + ": " + std::generic_category().message(error));
}

class File {
 public:
  File(const std::filesystem::path& path, int flags, const char* operation)
      : fd_(::open(path.c_str(), flags | O_CLOEXEC, 0666)) {
    if (fd_ < 0) fail(std::string(operation) + " " + path.string(), errno);
  }
  ~File() {
    if (fd_ >= 0) ::close(fd_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  int fd() const { return fd_; }
  int close() { return ::close(std::exchange(fd_, -1)); }  // some file systems report a full disk only here

 private:
  int fd_;
};

inline void sync_folder(const std::filesystem::path& folder) {
  const File file(folder, O_RDONLY | O_DIRECTORY, "open folder");
  if (::fsync(file.fd()) != 0) fail("sync folder " + folder.string(), errno);
}

}  // namespace dtrain::posix
