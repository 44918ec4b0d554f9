// SPDX-License-Identifier: Apache-2.0
#include "core/plugin/mapped_copies.h"

#include <cctype>
#include <fstream>
#include <iterator>
#include <set>

namespace dtrain {
namespace {

// "address permissions offset device inode path": the fifth field starts the path, which may contain blanks.
struct Mapping {
  std::string_view file_id;  // device and inode
  std::string_view path;
};

Mapping parse(std::string_view line) {
  std::size_t position = 0;
  const auto next = [&] {
    position = line.find_first_not_of(' ', position);
    const auto begin = position;
    position = line.find(' ', position);
    return begin;
  };
  for (int skipped = 0; skipped < 3; ++skipped) {
    if (next() == std::string_view::npos) return {};
  }
  const auto device = next();
  const auto inode = next();
  if (device == std::string_view::npos || inode == std::string_view::npos || position == std::string_view::npos)
    return {};
  const auto path = line.find('/', position);
  if (path == std::string_view::npos) return {};
  return {line.substr(device, position - device), line.substr(path)};
}

bool matches(std::string_view path, std::string_view stem) {
  const auto name = path.substr(path.rfind('/') + 1);
  return name.starts_with(stem) &&
         (name.size() == stem.size() || std::isalpha(static_cast<unsigned char>(name[stem.size()])) == 0);
}

}  // namespace

std::vector<std::string> mapped_copies(std::string_view maps, std::string_view stem) {
  std::vector<std::string> copies;
  std::set<std::string_view> seen;
  while (!maps.empty()) {
    const auto end = std::min(maps.find('\n'), maps.size());
    const auto mapping = parse(maps.substr(0, end));
    if (matches(mapping.path, stem) && seen.insert(mapping.file_id).second) copies.emplace_back(mapping.path);
    maps.remove_prefix(std::min(end + 1, maps.size()));
  }
  return copies;
}

std::vector<std::string> mapped_copies(std::string_view stem) {
  std::ifstream file("/proc/self/maps");
  const std::string maps((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  return mapped_copies(maps, stem);
}

}  // namespace dtrain
