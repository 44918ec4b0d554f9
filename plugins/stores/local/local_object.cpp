// SPDX-License-Identifier: Apache-2.0
#include "local_object.h"

#include <sys/stat.h>

#include <cstdio>

namespace dtrain {

LocalWriter::LocalWriter(std::filesystem::path path, std::filesystem::path unfinished)
    : path_(std::move(path)),
      unfinished_(std::move(unfinished)),
      file_(unfinished_, O_WRONLY | O_CREAT | O_TRUNC, "create") {}

LocalWriter::~LocalWriter() {
  if (!finished_) ::unlink(unfinished_.c_str());
}

void LocalWriter::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const auto count = ::write(file_.fd(), bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      posix::fail("write " + path_.string() + " (" + std::to_string(bytes.size()) + " bytes after the first " +
                      std::to_string(written_) + ")",
                  errno);
    }
    bytes = bytes.subspan(static_cast<std::size_t>(count));
    written_ += static_cast<std::uint64_t>(count);
  }
}

void LocalWriter::finish() {
  const auto size = " (" + std::to_string(written_) + " bytes)";
  if (::fsync(file_.fd()) != 0) posix::fail("sync " + path_.string() + size, errno);
  if (file_.close() != 0) posix::fail("close " + path_.string() + size, errno);
  if (::rename(unfinished_.c_str(), path_.c_str()) != 0) posix::fail("rename to " + path_.string() + size, errno);
  finished_ = true;
  posix::sync_folder(path_.parent_path());
}

LocalReader::LocalReader(std::filesystem::path path) : path_(std::move(path)), file_(path_, O_RDONLY, "open") {
  struct stat info {};
  if (::fstat(file_.fd(), &info) != 0) posix::fail("read the size of " + path_.string(), errno);
  if (!S_ISREG(info.st_mode)) posix::fail("read " + path_.string(), EISDIR);
  size_ = static_cast<std::uint64_t>(info.st_size);
}

void LocalReader::read(std::uint64_t offset, std::span<std::byte> out) const {
  while (!out.empty()) {
    const auto count = ::pread(file_.fd(), out.data(), out.size(), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) posix::fail("read " + path_.string() + " at byte " + std::to_string(offset), errno);
    if (count == 0) {
      throw RecoverableError(RecoverableError::Kind::store_unavailable,
                             "store local: cannot read " + path_.string() + ": it ends at byte " +
                                 std::to_string(offset) + ", " + std::to_string(out.size()) + " more were expected");
    }
    out = out.subspan(static_cast<std::size_t>(count));
    offset += static_cast<std::uint64_t>(count);
  }
}

}  // namespace dtrain
