// SPDX-License-Identifier: Apache-2.0
#include "cli/plugin/skeleton.h"

#include <dtrain/error.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "cli/plugin/skeleton_sources.h"
#include "core/base/atomic_file.h"

namespace dtrain::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kProject = R"text(# Build:  cmake -B build && cmake --build build
# Try:    dtrain plugin test build/@NAME@.so
# Use:    dtrain run RECIPE --plugin build/@NAME@.so
#         or cmake --install build --prefix ~/.local, where dtrain looks by itself
cmake_minimum_required(VERSION 3.25)
project(@NAME@ LANGUAGES CXX)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()
find_package(dtrain REQUIRED)

dtrain_add_plugin(@NAME@ SOURCES @NAME@.cpp@TORCH@)
install(TARGETS @NAME@ DESTINATION lib/dtrain/plugins)
)text";

std::string filled(std::string_view text, const std::vector<std::pair<std::string_view, std::string>>& values) {
  std::string out(text);
  for (const auto& [key, value] : values) {
    for (auto at = out.find(key); at != std::string::npos; at = out.find(key, at + value.size())) {
      out.replace(at, key.size(), value);
    }
  }
  return out;
}

bool is_letter(char c) {
  return c >= 'a' && c <= 'z';
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

void check_name(std::string_view name) {
  const auto part = [](char c) { return is_letter(c) || is_digit(c) || c == '_' || c == '-'; };
  if (!name.empty() && is_letter(name[0]) && std::ranges::all_of(name, part)) return;
  throw UserError("'" + std::string(name) + "' cannot be the name of a component",
                  "use small letters, digits, '-' and '_', a letter first: my-model");
}

// "my-model" -> "MyModel".
std::string class_name(std::string_view name) {
  std::string out;
  bool upper = true;
  for (const char c : name) {
    if (!is_letter(c) && !is_digit(c)) {
      upper = true;
      continue;
    }
    out += upper && is_letter(c) ? static_cast<char>(c - 'a' + 'A') : c;
    upper = false;
  }
  return out;
}

const SkeletonSource& source_of(std::string_view kind) {
  std::string known;
  for (const auto& source : skeleton_sources()) {
    if (source.kind == kind) return source;
    known += (known.empty() ? "" : ", ") + std::string(source.kind);
  }
  throw UserError("there is no skeleton for kind '" + std::string(kind) + "'", "choose one of " + known);
}

}  // namespace

std::vector<std::string_view> skeleton_kinds() {
  std::vector<std::string_view> kinds;
  for (const auto& source : skeleton_sources()) kinds.push_back(source.kind);
  return kinds;
}

std::vector<fs::path> write_skeleton(std::string_view kind, std::string_view name, const fs::path& folder) {
  const auto& source = source_of(kind);
  check_name(name);
  const std::vector<fs::path> files = {folder / "CMakeLists.txt", folder / (std::string(name) + ".cpp")};
  std::error_code error;
  for (const auto& file : files) {
    if (fs::exists(file, error)) throw UserError("'" + file.string() + "' exists already", "choose another folder");
  }
  fs::create_directories(folder, error);
  if (error) throw UserError("cannot make the folder '" + folder.string() + "': " + error.message(), "check the path");
  write_file_atomically(files[0],
                        filled(kProject, {{"@NAME@", std::string(name)}, {"@TORCH@", source.torch ? " TORCH" : ""}}));
  write_file_atomically(files[1], filled(source.text, {{"@NAME@", std::string(name)}, {"@CLASS@", class_name(name)}}));
  return files;
}

}  // namespace dtrain::cli
