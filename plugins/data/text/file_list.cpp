// SPDX-License-Identifier: Apache-2.0
#include "file_list.h"

#include <dirent.h>
#include <dtrain/error.h>
#include <glob.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

namespace {

bool is_glob(std::string_view path) {
  return path.find_first_of("*?[") != std::string_view::npos;
}

class Lister {
 public:
  void entry(const std::string& path) {
    struct stat info {};
    if (::stat(path.c_str(), &info) == 0) {
      add(path, info, true);
    } else if (errno == ENOENT && is_glob(path)) {
      glob(path);
    } else {
      throw_file_error("read", path, errno);
    }
  }

  std::vector<std::string> take() { return std::move(files_); }

 private:
  void add(const std::string& path, const struct stat& info, bool named) {
    if (S_ISREG(info.st_mode)) {
      if (seen_.insert({info.st_dev, info.st_ino}).second) files_.push_back(path);
    } else if (S_ISDIR(info.st_mode)) {
      folder(path);
    } else if (named) {
      throw dtrain::UserError("data text: " + path + " is neither a file nor a folder",
                              "data.path takes files, folders and globs");
    }
  }

  void folder(const std::string& path) {
    const std::unique_ptr<DIR, int (*)(DIR*)> dir(::opendir(path.c_str()), &::closedir);
    if (!dir) throw_file_error("open folder", path, errno);
    std::vector<std::string> names;
    errno = 0;
    while (const auto* item = ::readdir(dir.get())) {
      const std::string_view name = item->d_name;
      if (name != "." && name != "..") names.emplace_back(name);
      errno = 0;
    }
    if (errno != 0) throw_file_error("read folder", path, errno);
    std::sort(names.begin(), names.end());
    for (const auto& name : names) {
      const auto child = path.ends_with('/') ? path + name : path + "/" + name;
      struct stat info {};
      if (::lstat(child.c_str(), &info) != 0) throw_file_error("read", child, errno);
      if (S_ISLNK(info.st_mode)) {
        if (::stat(child.c_str(), &info) != 0) throw_file_error("follow the link", child, errno);
        if (S_ISDIR(info.st_mode)) continue;  // could lead back up
      }
      add(child, info, false);
    }
  }

  void glob(const std::string& pattern) {
    glob_t found{};
    const int status = ::glob(pattern.c_str(), GLOB_NOSORT | GLOB_ERR, nullptr, &found);
    const int error = errno;
    const std::unique_ptr<glob_t, void (*)(glob_t*)> owner(&found, &::globfree);
    if (status == GLOB_NOMATCH) {
      throw dtrain::UserError("data text: cannot read " + pattern + ": " + std::generic_category().message(ENOENT) +
                                  ", nor does anything match it as a pattern",
                              "check data.path; a relative path starts at the recipe's folder");
    }
    if (status != 0) throw_file_error("search", pattern, status == GLOB_NOSPACE ? ENOMEM : error);
    std::vector<std::string> paths(found.gl_pathv, found.gl_pathv + found.gl_pathc);
    std::sort(paths.begin(), paths.end());
    for (const auto& path : paths) {
      struct stat info {};
      if (::stat(path.c_str(), &info) != 0) throw_file_error("read", path, errno);
      add(path, info, false);
    }
  }

  std::set<std::pair<dev_t, ino_t>> seen_;
  std::vector<std::string> files_;
};

}  // namespace

std::vector<std::string> list_files(const std::vector<std::string>& entries) {
  Lister lister;
  for (const auto& path : entries) lister.entry(path);
  return lister.take();
}

void throw_file_error(const std::string& what, const std::string& path, int error) {
  const auto text = std::generic_category().message(error);
  throw dtrain::UserError("data text: cannot " + what + " " + path + ": " + text,
                          error == EACCES ? "give the user who trains permission to read it"
                                          : "check data.path; a relative path starts at the recipe's folder");
}
