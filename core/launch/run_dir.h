// SPDX-License-Identifier: Apache-2.0
//
// The run directory: its name, and who may use it.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/unique_fd.h"

namespace dtrain {

// Held while a run uses its directory: an flock on DIR/lock, whose text names the holder for people. The lock goes with
// the process that holds it, however that ends; the file stays.
class RunDirLock {
 public:
  // Before anything is read from a directory that exists: locks it when a run has used it before. Without a lock file,
  // or without the directory, nothing is created and the lock is empty. UserError (exit 2): in use by another run, with
  // its process id; the path is no directory; no permission.
  static RunDirLock before_prepare(const std::filesystem::path& dir);

  // Makes the directory and its lock file where they are missing. UserError (exit 2) as above, or when another run has
  // used the directory since before_prepare().
  void after_prepare(const std::filesystem::path& dir);

  bool held() const { return fd_.valid(); }

 private:
  void take(const std::filesystem::path& dir);

  UniqueFd fd_;
};

// The process id that DIR/lock names while some process holds the lock.
std::optional<int> run_dir_holder(const std::filesystem::path& dir);

// "runs/NAME-20260131-120000", in local time.
std::filesystem::path default_run_dir(std::string_view name);

// Makes `dir`, or the first of DIR-2, DIR-3 ... that does not exist, and the folders above it. UserError (exit 2) with
// the path and the system's text.
std::filesystem::path make_new_dir(const std::filesystem::path& dir);

}  // namespace dtrain
