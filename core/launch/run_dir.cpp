// SPDX-License-Identifier: Apache-2.0
#include "core/launch/run_dir.h"

#include <dtrain/error.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <ctime>
#include <fstream>

#include "core/base/log.h"
#include "core/base/process.h"

namespace dtrain {
namespace {

namespace fs = std::filesystem;

std::string first_word(const fs::path& file) {
  std::ifstream in(file);
  std::string word;
  in >> word;
  return word;
}

[[noreturn]] void in_use(const fs::path& dir) {
  const auto holder = first_word(dir / "lock");
  throw UserError(
      "run directory " + dir.string() + " is in use by " + (holder.empty() ? "another run" : "process " + holder),
      "choose another with --run-dir, or end that run first: dtrain stop " + dir.string());
}

[[noreturn]] void refuse(const char* what, const fs::path& path, int error) {
  throw UserError(std::string(what) + " " + path.string() + ": " + std::strerror(error),
                  "choose a run directory that you can write to with --run-dir");
}

}  // namespace

RunDirLock RunDirLock::before_prepare(const fs::path& dir) {
  RunDirLock lock;
  std::error_code error;
  const auto status = fs::status(dir, error);
  if (status.type() == fs::file_type::not_found) return lock;
  if (error) refuse("cannot use run directory", dir, error.value());
  if (!fs::is_directory(status)) refuse("cannot use run directory", dir, ENOTDIR);
  lock.fd_.reset(::open((dir / "lock").c_str(), O_RDWR | O_CLOEXEC));
  if (!lock.fd_.valid() && errno != ENOENT) refuse("cannot open", dir / "lock", errno);
  if (lock.held()) lock.take(dir);
  return lock;
}

void RunDirLock::after_prepare(const fs::path& dir) {
  if (held()) return;
  std::error_code error;
  fs::create_directories(dir, error);
  if (error) refuse("cannot make run directory", dir, error.value());
  fd_.reset(::open((dir / "lock").c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (!held() && errno == EEXIST) {
    if (run_dir_holder(dir)) in_use(dir);
    throw UserError("run directory " + dir.string() + " was used by another run while this one was being prepared",
                    "start the command again");
  }
  if (!held()) refuse("cannot make", dir / "lock", errno);
  take(dir);
}

void RunDirLock::take(const fs::path& dir) {
  if (::flock(fd_.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) in_use(dir);
    refuse("cannot lock", dir / "lock", errno);
  }
  const auto text = std::to_string(::getpid()) + " " + host_name() + " " + utc_now() + "\n";
  if (::ftruncate(fd_.get(), 0) != 0 || ::pwrite(fd_.get(), text.data(), text.size(), 0) < 0) {
    refuse("cannot write", dir / "lock", errno);
  }
}

std::optional<int> run_dir_holder(const fs::path& dir) {
  const UniqueFd fd(::open((dir / "lock").c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid() || ::flock(fd.get(), LOCK_SH | LOCK_NB) == 0 || errno != EWOULDBLOCK) return std::nullopt;
  const auto word = first_word(dir / "lock");
  int pid = 0;
  std::from_chars(word.data(), word.data() + word.size(), pid);
  return pid;
}

fs::path default_run_dir(std::string_view name) {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::localtime_r(&now, &parts);
  std::array<char, 32> text;
  const auto length = std::strftime(text.data(), text.size(), "-%Y%m%d-%H%M%S", &parts);
  return fs::path("runs") / (std::string(name) + std::string(text.data(), length));
}

fs::path make_new_dir(const fs::path& dir) {
  std::error_code error;
  if (dir.has_parent_path()) fs::create_directories(dir.parent_path(), error);
  if (error) refuse("cannot make run directory", dir.parent_path(), error.value());
  fs::path candidate = dir;
  for (int suffix = 2; !fs::create_directory(candidate, error); ++suffix) {
    if (error) refuse("cannot make run directory", candidate, error.value());
    candidate = dir.string() + "-" + std::to_string(suffix);
  }
  return candidate;
}

}  // namespace dtrain
