// SPDX-License-Identifier: Apache-2.0
#include "core/recipe/toml_reader.h"

#define TOML_HEADER_ONLY 0
#define TOML_SHARED_LIB 1
#include <toml++/toml.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace dtrain {
namespace {

using Position = std::pair<int, int>;  // line, column, both from 1
using Replacement = std::variant<HugeNumber, Unreadable>;

Position position(const toml::source_position& p) {
  return {static_cast<int>(p.line), static_cast<int>(p.column)};
}

toml::table parse(std::string_view text) {
  return toml::parse(text);
}

// Converts the library's tree to ours.
class Converter {
 public:
  Converter(const std::string& name, const std::string& folder, const std::map<Position, Replacement>& replacements)
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
  const std::map<Position, Replacement>& replacements_;
};

// The path of the deepest key of a document that holds one only, and of the last one along arrays of tables.
std::vector<std::string> path_to(const toml::table& table, std::string_view last) {
  for (const auto& [key, node] : table) {
    if (key.str() == last) return {std::string(key.str())};
    const auto* array = node.as_array();
    const auto index = array != nullptr && !array->empty() ? array->size() - 1 : 0;
    const auto* child = array != nullptr ? (array->empty() ? nullptr : array->get(index)->as_table()) : node.as_table();
    if (child == nullptr) continue;
    if (auto rest = path_to(*child, last); !rest.empty()) {
      if (array != nullptr) rest.insert(rest.begin(), std::to_string(index));
      rest.insert(rest.begin(), std::string(key.str()));
      return rest;
    }
  }
  return {};
}

const toml::node* descend(const toml::node* node, const std::vector<std::string>& path, toml::source_position& key) {
  for (const auto& part : path) {
    if (const auto* table = node->as_table()) {
      const auto it = table->find(part);
      if (it == table->end()) return nullptr;
      key = it->first.source().begin;
      node = &it->second;
    } else if (const auto* array = node->as_array()) {
      node = array->get(std::stoul(part));
    }
    if (node == nullptr) return nullptr;
  }
  return node;
}

std::string dotted(const std::vector<std::string>& path) {
  std::string out;
  for (const auto& part : path) out += (out.empty() ? "" : ".") + part;
  return out;
}

constexpr std::string_view kProbe = "dtrain-probe";

// One document that is parsed again after each mistake that could be taken out of it.
class Document {
 public:
  Document(std::string_view text, const std::string& name, MistakeList& mistakes)
      : text_(text), name_(name), mistakes_(mistakes) {}

  std::optional<toml::table> read() {
    constexpr int kMostRepairs = 100;
    for (int i = 0; i < kMostRepairs; ++i) {
      try {
        return parse(text_);
      } catch (const toml::parse_error& error) {
        if (!repair(error)) return std::nullopt;
      }
    }
    return std::nullopt;
  }

  const std::map<Position, Replacement>& replacements() const { return replacements_; }

 private:
  struct Line {
    std::size_t begin = 0;
    std::size_t size = 0;
  };

  Line line(int number) const {
    std::size_t begin = 0;
    for (int i = 1; i < number; ++i) {
      const auto end = text_.find('\n', begin);
      if (end == std::string::npos) return {text_.size(), 0};
      begin = end + 1;
    }
    return {begin, std::min(text_.find('\n', begin), text_.size()) - begin};
  }

  std::string line_text(int number) const {
    const auto where = line(number);
    return text_.substr(where.begin, where.size);
  }

  // Byte offset in the whole text; columns count code points.
  std::size_t offset(Position p) const {
    const auto where = line(p.first);
    auto at = where.begin;
    for (int column = 1; at < where.begin + where.size && column < p.second; ++column) {
      ++at;
      while (at < text_.size() && (static_cast<unsigned char>(text_[at]) & 0xc0) == 0x80) ++at;
    }
    return at;
  }

  int column(std::size_t at) const {
    const auto begin = text_.rfind('\n', at == 0 ? std::string::npos : at - 1);
    int out = 1;
    for (auto i = at == 0 || begin == std::string::npos ? 0 : begin + 1; i < at; ++i)
      out += (static_cast<unsigned char>(text_[i]) & 0xc0) != 0x80;
    return out;
  }

  static bool is_header(const std::string& text) {
    const auto first = text.find_first_not_of(" \t");
    return first != std::string::npos && text[first] == '[';
  }

  // The offset in the line of the '=' that ends its key; npos when the line has none.
  static std::size_t equals(const std::string& text) {
    char quote = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
      const char c = text[i];
      if (quote != 0) {
        if (c == '\\' && quote == '"') {
          ++i;
        } else if (c == quote) {
          quote = 0;
        }
      } else if (c == '"' || c == '\'') {
        quote = c;
      } else if (c == '=') {
        return i;
      } else if (c == '#' || c == '[' || c == '{') {
        return std::string::npos;
      }
    }
    return std::string::npos;
  }

  // Path of the table that a line belongs to, and of the key written on it; empty when that cannot be told.
  std::vector<std::string> path_of_line(int number) const {
    try {
      const auto text = line_text(number);
      const auto end = equals(text);
      if (end == std::string::npos) return {};
      auto path = path_to(parse(text_.substr(0, line(number).begin) + std::string(kProbe) + " = 0\n"), kProbe);
      path.pop_back();
      auto document = parse(text.substr(0, end) + "= 0");
      for (const toml::table* table = &document; table != nullptr; table = table->begin()->second.as_table())
        path.emplace_back(table->begin()->first.str());
      return path;
    } catch (const toml::parse_error&) {
      return {};
    }
  }

  std::vector<std::string> path_of_header(int number) const {
    try {
      const auto document = parse(line_text(number) + "\n" + std::string(kProbe) + " = 0\n");
      auto path = path_to(document, kProbe);
      path.pop_back();
      std::erase_if(path, [](const std::string& part) { return part == "0"; });
      return path;
    } catch (const toml::parse_error&) {
      return {};
    }
  }

  std::string first_place(int number, const std::vector<std::string>& path) const {
    try {
      const auto document = parse(text_.substr(0, line(number).begin));
      toml::source_position key{};
      if (path.empty() || descend(&document, path, key) == nullptr) return {};
      return Place{name_, static_cast<int>(key.line), static_cast<int>(key.column)}.text();
    } catch (const toml::parse_error&) {
      return {};
    }
  }

  void add(Position p, const std::vector<std::string>& path, std::string message, std::string hint = {}) {
    mistakes_.add({name_, p.first, p.second}, dotted(path), std::move(message), std::move(hint));
  }

  bool repair(const toml::parse_error& error) {
    const auto where = position(error.source().begin);
    std::string description(error.description());
    if (description.find("cannot redefine") != std::string::npos) return repair_repeated(where);
    if (description.find("not representable") != std::string::npos ||
        description.find("floating-point") != std::string::npos)
      return repair_number(where);
    return repair_syntax(where, description);
  }

  bool repair_repeated(Position where) {
    const auto text = line_text(where.first);
    const int begin = static_cast<int>(std::min(text.find_first_not_of(" \t"), text.size())) + 1;
    const bool header = is_header(text);
    const auto path = header ? path_of_header(where.first) : path_of_line(where.first);
    const auto first = first_place(where.first, path);
    const std::string what = header ? "this table is written twice" : "this key is written twice";
    if (first.empty()) {  // inside an inline table, or a key below a value
      add(where, path, "a key is written twice, or below a key that has a value already");
      return false;
    }
    add({where.first, begin}, path, what + "; the first is at " + first, "keep one of them");
    if (header) return false;  // its keys would land in the table before it
    blank(where.first);
    return true;
  }

  void blank(int number) {
    const auto at = line(number);
    text_.replace(at.begin, at.size, std::string(at.size, ' '));
  }

  // The mistake's place is behind the literal: a valid one takes its place and the check of its option says what fits.
  bool repair_number(Position where) {
    auto end = offset(where);
    const auto is_number = [](char c) {
      return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '.' ||
             c == '+' || c == '-';
    };
    auto begin = end;
    while (begin > 0 && is_number(text_[begin - 1])) --begin;
    while (end < text_.size() && is_number(text_[end])) ++end;
    if (begin == end) return repair_syntax(where, "not a number");
    replacements_[{where.first, column(begin)}] = HugeNumber{text_.substr(begin, end - begin)};
    text_.replace(begin, end - begin, "0" + std::string(end - begin - 1, ' '));
    return true;
  }

  bool repair_syntax(Position where, std::string description) {
    for (const std::string_view noise : {"Error while parsing ", "Encountered "}) {
      if (description.starts_with(noise)) description.erase(0, noise.size());
    }
    const auto text = line_text(where.first);
    const auto path = path_of_line(where.first);
    const bool first = repaired_.insert(where.first).second;
    if (path.empty() || !first) {
      // A second mistake on a mended line comes from the mending.
      if (first) add(where, {}, "not TOML: " + description);
      return false;
    }
    const auto sign = equals(text);
    const auto value = text.find_first_not_of(" \t", sign + 1);
    add(where, path, "cannot read the value: " + description,
        hint(path.back(), value == std::string::npos ? "" : text.substr(value)));
    const auto begin = line(where.first).begin + sign + 1;
    text_.replace(begin, text.size() - sign - 1, " 0");
    replacements_[{where.first, column(begin + 1)}] = Unreadable();
    return true;
  }

  static std::string hint(const std::string& key, std::string value) {
    value = value.substr(0, value.find_first_of(" \t#,\r"));
    if (value.empty()) return "write a value behind '='";
    if (value == "True" || value == "False") return std::string("write ") + (value == "True" ? "true" : "false");
    const char c = value.front();
    const bool word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '/' || c == '.' || c == '~' || c == '$';
    return word ? "strings need quotes: " + key + " = \"" + value + "\"" : "";
  }

  std::string text_;
  const std::string& name_;
  MistakeList& mistakes_;
  std::map<Position, Replacement> replacements_;
  std::set<int> repaired_;
};

}  // namespace

std::optional<Value> read_toml(std::string_view text, const std::string& name, const std::string& folder,
                               MistakeList& mistakes) {
  Document document(text, name, mistakes);
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
