// SPDX-License-Identifier: Apache-2.0
#include "local_store.h"

#include <dirent.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdio>
#include <optional>
#include <random>

#include "local_object.h"

namespace dtrain {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kUnfinished = ".unfinished";
constexpr std::string_view kTrash = ".trash-";
constexpr int kListTries = 100;
constexpr int kMaxDepth = 16;  // a symbolic link may lead in a circle

std::optional<struct stat> stat_of(const fs::path& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) == 0) return info;
  if (errno == ENOENT || errno == ENOTDIR) return std::nullopt;
  posix::fail("look at " + path.string(), errno);
}

bool is_folder(const fs::path& path) {
  const auto info = stat_of(path);
  return info && S_ISDIR(info->st_mode);
}

bool valid_segment(std::string_view segment) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
           c == '-';
  };
  return !segment.empty() && segment != "." && segment != ".." && !segment.starts_with(kTrash) &&
         std::ranges::all_of(segment, allowed);
}

// Makes `folder` and its parents; their entries are durable when it returns.
void make_folders(const fs::path& folder) {
  if (is_folder(folder)) return;
  const auto parent = folder.parent_path();
  if (parent != folder && !parent.empty()) make_folders(parent);
  if (::mkdir(folder.c_str(), 0777) != 0) {
    const int error = errno;
    if (error == EEXIST && is_folder(folder)) return;
    if (error == EEXIST) {
      throw RecoverableError(RecoverableError::Kind::store_unavailable,
                             "store local: " + folder.string() + " is a regular file where a folder is needed");
    }
    posix::fail("create folder " + folder.string(), error);
  }
  posix::sync_folder(parent);
}

// The names in a folder. They are read in few system calls, each of which sees one moment of the folder.
std::vector<std::string> names_in(const fs::path& folder, bool& vanished) {
  std::vector<std::string> names;
  const std::unique_ptr<DIR, int (*)(DIR*)> handle(::opendir(folder.c_str()), &::closedir);
  if (handle == nullptr) {
    if (errno != ENOENT && errno != ENOTDIR) posix::fail("list " + folder.string(), errno);
    vanished = true;
    return names;
  }
  while (true) {
    errno = 0;
    const auto* entry = ::readdir(handle.get());
    if (entry != nullptr) {
      if (valid_segment(entry->d_name)) names.emplace_back(entry->d_name);
      continue;
    }
    if (errno != 0 && errno != ENOENT) posix::fail("list " + folder.string(), errno);
    // A folder that was moved away meanwhile may have been read while it was emptied.
    if (!is_folder(folder)) vanished = true;
    return names;
  }
}

// `vanished` is set when something was removed or renamed in the middle: what was seen then belongs to no one moment.
void list_into(const fs::path& folder, const std::string& key_prefix, int depth, std::vector<ObjectInfo>& out,
               bool& vanished) {
  if (depth > kMaxDepth) return;
  for (const auto& name : names_in(folder, vanished)) {
    const auto info = stat_of(folder / name);
    if (!info) {
      vanished = true;
    } else if (S_ISDIR(info->st_mode)) {
      list_into(folder / name, key_prefix + name + "/", depth + 1, out, vanished);
    } else if (S_ISREG(info->st_mode)) {
      out.push_back({key_prefix + name, static_cast<std::uint64_t>(info->st_size)});
    }
  }
}

void sync_tree(const fs::path& folder) {
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.is_directory()) sync_tree(entry.path());
  }
  posix::sync_folder(folder);
}

}  // namespace

LocalStore::LocalStore(const StoreContext& context, const NoOptions&)
    : root_(fs::path(context.root).lexically_normal()) {
  if (!root_.has_filename()) root_ = root_.parent_path();
  const auto info = stat_of(root_);
  if (info && !S_ISDIR(info->st_mode)) {
    throw UserError("store local: " + root_.string() + " is a regular file where a folder is needed",
                    "name another folder or move the file away");
  }
}

fs::path LocalStore::path_of(const std::string& key) const {
  for (std::size_t begin = 0; begin <= key.size();) {
    const auto end = std::min(key.find('/', begin), key.size());
    DTRAIN_CHECK(valid_segment(std::string_view(key).substr(begin, end - begin)), "key '" + key + "'");
    begin = end + 1;
  }
  return root_ / key;
}

std::unique_ptr<ObjectWriter> LocalStore::create(const std::string& key) {
  const auto path = path_of(key);
  DTRAIN_CHECK(!key.ends_with(kUnfinished), key);
  if (!swept_.exchange(true)) empty_trash();
  make_folders(path.parent_path());
  if (is_folder(path)) posix::fail("create " + path.string(), EISDIR);
  return std::make_unique<LocalWriter>(path, path.string() + std::string(kUnfinished));
}

std::unique_ptr<ObjectReader> LocalStore::open(const std::string& key) const {
  return std::make_unique<LocalReader>(path_of(key));
}

bool LocalStore::exists(const std::string& key) const {
  const auto info = stat_of(path_of(key));
  return info && S_ISREG(info->st_mode);
}

std::vector<ObjectInfo> LocalStore::list(const std::string& prefix) const {
  const auto folder = prefix.empty() ? root_ : path_of(prefix);
  std::vector<ObjectInfo> out;
  // A reader that looks while one checkpoint is published and another removed must not miss both.
  bool vanished = true;
  for (int attempt = 0; vanished && attempt < kListTries && is_folder(folder); ++attempt) {
    out.clear();
    vanished = false;
    list_into(folder, prefix.empty() ? prefix : prefix + "/", 0, out, vanished);
  }
  std::ranges::sort(out, {}, &ObjectInfo::key);
  return out;
}

void LocalStore::remove(const std::string& prefix) {
  const auto path = path_of(prefix);
  std::random_device random;
  const auto trash = root_ / (std::string(kTrash) + std::to_string(random()) + std::to_string(random()));
  if (::rename(path.c_str(), trash.c_str()) != 0) {
    if (errno != ENOENT && errno != ENOTDIR) posix::fail("remove " + path.string(), errno);
    return empty_trash();
  }
  posix::sync_folder(path.parent_path());  // before anything in it goes: a crash must not bring half of it back
  std::error_code error;
  fs::remove_all(trash, error);
  if (error && error != std::errc::no_such_file_or_directory) {
    posix::fail("delete what was " + path.string(), error.value());
  }
  empty_trash();
}

void LocalStore::publish(const std::string& staging, const std::string& final_prefix) {
  const auto from = path_of(staging), to = path_of(final_prefix);
  const auto what = "publish " + from.string() + " as " + to.string();
  if (!is_folder(from)) posix::fail(what, ENOENT);
  make_folders(to.parent_path());
  sync_tree(from);
  int result = ::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE);
  if (result != 0 && (errno == EINVAL || errno == ENOSYS)) {
    // A file system without the flag. rename() itself refuses to replace a folder that is not empty.
    if (stat_of(to)) posix::fail(what, EEXIST);
    result = ::rename(from.c_str(), to.c_str());
  }
  if (result != 0) posix::fail(what, errno);
  posix::sync_folder(to.parent_path());
  if (from.parent_path() != to.parent_path()) posix::sync_folder(from.parent_path());
}

void LocalStore::empty_trash() noexcept {
  std::error_code error;
  for (fs::directory_iterator it(root_, error), end; !error && it != end; it.increment(error)) {
    std::error_code ignored;  // another process may be deleting the same
    if (it->path().filename().string().starts_with(kTrash)) fs::remove_all(it->path(), ignored);
  }
}

}  // namespace dtrain
