// SPDX-License-Identifier: Apache-2.0
#include "core/recipe/toml_reader.h"

#include <algorithm>
#include <map>
#include <utility>

#include "core/recipe/toml_document.h"

namespace dtrain {
namespace {

// Converts the library's tree to ours.
class Converter {
 public:
  Converter(const std::string& name, const std::string& folder, const Replacements& replacements)
      : name_(name), folder_(folder), replacements_(replacements) {}

  Value value(const toml::node& node) const {
    const auto begin = position(node.source().begin);
    Value out;
    out.origin = {{name_, begin.first, begin.second}, folder_, {}};
    if (const auto it = replacements_.find(begin); it != replacements_.end()) {
      std::visit([&](const auto& replacement) { out.data = replacement; }, it->second);
    } else if (const auto* table_node = node.as_table()) {
      out.data = table(*table_node);
    } else if (const auto* array = node.as_array()) {
      Array list;
      for (const auto& element : *array) list.push_back(value(element));
      out.data = std::move(list);
    } else if (const auto* text = node.as_string()) {
      out.data = text->get();
    } else if (const auto* integer = node.as_integer()) {
      out.data = integer->get();
    } else if (const auto* real = node.as_floating_point()) {
      out.data = real->get();
    } else if (const auto* flag = node.as_boolean()) {
      out.data = flag->get();
    } else {
      out.data = DateTime();
    }
    return out;
  }

 private:
  // The library sorts keys; ours keep the order of the file.
  Table table(const toml::table& source) const {
    std::vector<Entry> entries;
    for (const auto& [key, node] : source) {
      const auto place = position(key.source().begin);
      entries.push_back({std::string(key.str()), {name_, place.first, place.second}, value(node)});
    }
    std::stable_sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
      return std::pair(a.key_place.line, a.key_place.column) < std::pair(b.key_place.line, b.key_place.column);
    });
    Table out;
    out.entries() = std::move(entries);
    return out;
  }

  const std::string& name_;
  const std::string& folder_;
  const Replacements& replacements_;
};

}  // namespace

std::optional<Value> read_toml(std::string_view text, const std::string& name, const std::string& folder,
                               MistakeList& mistakes) {
  TomlDocument document(text, name, mistakes);
  const auto table = document.read();
  if (!table) return std::nullopt;
  return Converter(name, folder, document.replacements()).value(*table);
}

std::optional<Value> read_toml_value(std::string_view text, const Origin& origin) {
  MistakeList mistakes;
  if (text.find('\n') != std::string_view::npos) return std::nullopt;
  const auto document = read_toml("value = " + std::string(text), origin.place.file, origin.folder, mistakes);
  if (!document || !mistakes.empty()) return std::nullopt;
  const auto& entries = document->as<Table>()->entries();
  if (entries.size() != 1) return std::nullopt;
  auto value = entries.front().value;
  const auto retarget = [&](auto& self, Value& v) -> void {
    v.origin = origin;
    if (auto* list = v.as<Array>()) {
      for (auto& element : *list) self(self, element);
    } else if (auto* table = v.as<Table>()) {
      for (auto& entry : table->entries()) {
        entry.key_place = origin.place;
        self(self, entry.value);
      }
    }
  };
  retarget(retarget, value);
  return value;
}

std::string text_as_string(std::string_view text) {
  if (!text.empty() && (text.front() == '"' || text.front() == '\'')) {
    const auto value = read_toml_value(text, {});
    if (value && value->as<std::string>() != nullptr) return *value->as<std::string>();
  }
  return std::string(text);
}

}  // namespace dtrain
