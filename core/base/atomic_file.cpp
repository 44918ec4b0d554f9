// SPDX-License-Identifier: Apache-2.0
#include "core/base/atomic_file.h"

#include <dtrain/error.h>
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <random>
#include <string>
#include <system_error>

namespace dtrain {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const char* operation, const fs::path& path, std::size_t bytes, int error) {
  throw UserError("cannot " + std::string(operation) + " " + path.string() + " (" + std::to_string(bytes) +
                      " bytes wanted): " + std::generic_category().message(error),
                  error == ENOSPC || error == EDQUOT ? "free space there or choose another folder"
                                                     : "check that the folder exists and may be written",
                  {}, 1);
}

// The file beside: closed and removed unless it was renamed away.
struct Temporary {
  fs::path path;
  int fd = -1;
  bool renamed = false;
  ~Temporary() {
    if (fd >= 0) ::close(fd);
    if (!renamed) ::unlink(path.c_str());
  }
};

void sync_folder(const fs::path& folder, const fs::path& path, std::size_t bytes) {
  const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) fail("open the folder of", path, bytes, errno);
  const int error = ::fsync(fd) == 0 ? 0 : errno;
  ::close(fd);
  if (error != 0) fail("sync the folder of", path, bytes, error);
}

}  // namespace

void write_file_atomically(const fs::path& path, std::span<const std::byte> bytes) {
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  std::random_device random;
  std::string name;
  int fd = -1;
  do {
    name = (folder / ("." + path.filename().string() + "." + std::to_string(random()))).string();
    fd = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  } while (fd < 0 && errno == EEXIST);
  if (fd < 0) fail("create a file beside", path, bytes.size(), errno);
  Temporary temporary{.path = name, .fd = fd};
  for (auto rest = bytes; !rest.empty();) {
    const auto written = ::write(fd, rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail("write", path, bytes.size(), errno);
    rest = rest.subspan(static_cast<std::size_t>(written));
  }
  if (::fsync(fd) != 0) fail("sync", path, bytes.size(), errno);
  if (::rename(name.c_str(), path.c_str()) != 0) fail("rename a file to", path, bytes.size(), errno);
  temporary.renamed = true;
  sync_folder(folder, path, bytes.size());
}

void write_file_atomically(const fs::path& path, std::string_view text) {
  write_file_atomically(path, std::as_bytes(std::span(text)));
}

}  // namespace dtrain
