// SPDX-License-Identifier: Apache-2.0
#include "core/recipe/path_text.h"

#include <cstdlib>
#include <filesystem>

#include "core/base/utf8.h"

namespace dtrain {

std::optional<std::string> resolve_path(std::string_view text, const std::string& key, const Origin& origin,
                                        MistakeList& mistakes) {
  std::string path;
  for (auto rest = text; !rest.empty();) {
    const auto begin = rest.find("${");
    path += rest.substr(0, begin);
    if (begin == std::string_view::npos) break;
    const auto end = rest.find('}', begin);
    const auto variable = rest.substr(begin, end == std::string_view::npos ? end : end + 1 - begin);
    if (!variable.starts_with("${env:") || !variable.ends_with('}') || variable.size() < 8) {
      mistakes.add(origin.place, key, "cannot read '" + std::string(variable) + "' in a path", "write ${env:NAME}");
      return std::nullopt;
    }
    const std::string name(variable.substr(6, variable.size() - 7));
    const char* value = std::getenv(name.c_str());
    if (value == nullptr) {
      mistakes.add(origin.place, key, "the environment variable " + name + " is not set", "export " + name + "=...");
      return std::nullopt;
    }
    path += value;
    rest.remove_prefix(end + 1);
  }
  if (path == "~" || path.starts_with("~/")) {
    mistakes.add(origin.place, key, "'~' is not expanded in \"" + path + "\"", "write ${env:HOME}" + path.substr(1));
    return std::nullopt;
  }
  if (path.empty() || path.find("://") != std::string::npos) return path;
  auto absolute = (std::filesystem::path(origin.folder) / path).lexically_normal().string();
  if (!is_utf8(absolute)) {
    mistakes.add(origin.place, key, "the path \"" + absolute + "\" is not UTF-8", "rename the folders or files");
    return std::nullopt;
  }
  if (absolute.size() > 1 && absolute.ends_with('/')) absolute.pop_back();
  return absolute;
}

bool check_no_variables(std::string_view text, const std::string& key, const Origin& origin, MistakeList& mistakes) {
  if (text.find("${env:") == std::string_view::npos) return true;
  mistakes.add(origin.place, key, "${env:NAME} may stand in paths only, found \"" + std::string(text) + "\"",
               "write the value, or give it with --set " + key + "=...");
  return false;
}

}  // namespace dtrain
