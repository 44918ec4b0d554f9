// SPDX-License-Identifier: Apache-2.0
#include "core/recipe/toml_document.h"

#include <algorithm>

namespace dtrain {
namespace {

toml::table parse(std::string_view text) {
  return toml::parse(text);
}

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

bool is_header(const std::string& text) {
  const auto first = text.find_first_not_of(" \t");
  return first != std::string::npos && text[first] == '[';
}

// The offset in the line of the '=' that ends its key; npos when the line has none.
std::size_t equals(const std::string& text) {
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

std::string hint(const std::string& key, std::string value) {
  value = value.substr(0, value.find_first_of(" \t#,\r"));
  if (value.empty()) return "write a value behind '='";
  if (value == "True" || value == "False") return std::string("write ") + (value == "True" ? "true" : "false");
  const char c = value.front();
  const bool word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '/' || c == '.' || c == '~' || c == '$';
  return word ? "strings need quotes: " + key + " = \"" + value + "\"" : "";
}

}  // namespace

std::optional<toml::table> TomlDocument::read() {
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

TomlDocument::Line TomlDocument::line(int number) const {
  std::size_t begin = 0;
  for (int i = 1; i < number; ++i) {
    const auto end = text_.find('\n', begin);
    if (end == std::string::npos) return {text_.size(), 0};
    begin = end + 1;
  }
  return {begin, std::min(text_.find('\n', begin), text_.size()) - begin};
}

std::string TomlDocument::line_text(int number) const {
  const auto where = line(number);
  return text_.substr(where.begin, where.size);
}

// Byte offset in the whole text; columns count code points.
std::size_t TomlDocument::offset(Position p) const {
  const auto where = line(p.first);
  auto at = where.begin;
  for (int column = 1; at < where.begin + where.size && column < p.second; ++column) {
    ++at;
    while (at < text_.size() && (static_cast<unsigned char>(text_[at]) & 0xc0) == 0x80) ++at;
  }
  return at;
}

int TomlDocument::column(std::size_t at) const {
  const auto begin = text_.rfind('\n', at == 0 ? std::string::npos : at - 1);
  int out = 1;
  for (auto i = at == 0 || begin == std::string::npos ? 0 : begin + 1; i < at; ++i)
    out += (static_cast<unsigned char>(text_[i]) & 0xc0) != 0x80;
  return out;
}

// Path of the table that a line belongs to, and of the key written on it; empty when that cannot be told.
std::vector<std::string> TomlDocument::path_of_line(int number) const {
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

std::vector<std::string> TomlDocument::path_of_header(int number) const {
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

std::string TomlDocument::first_place(int number, const std::vector<std::string>& path) const {
  try {
    const auto document = parse(text_.substr(0, line(number).begin));
    toml::source_position key{};
    if (path.empty() || descend(&document, path, key) == nullptr) return {};
    return Place{name_, static_cast<int>(key.line), static_cast<int>(key.column)}.text();
  } catch (const toml::parse_error&) {
    return {};
  }
}

void TomlDocument::add(Position p, const std::vector<std::string>& path, std::string message, std::string hint) {
  mistakes_.add({name_, p.first, p.second}, dotted(path), std::move(message), std::move(hint));
}

bool TomlDocument::repair(const toml::parse_error& error) {
  const auto where = position(error.source().begin);
  std::string description(error.description());
  if (description.find("cannot redefine") != std::string::npos) return repair_repeated(where);
  if (description.find("not representable") != std::string::npos ||
      description.find("floating-point") != std::string::npos)
    return repair_number(where);
  return repair_syntax(where, description);
}

bool TomlDocument::repair_repeated(Position where) {
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

void TomlDocument::blank(int number) {
  const auto at = line(number);
  text_.replace(at.begin, at.size, std::string(at.size, ' '));
}

// The mistake's place is behind the literal: a valid one takes its place and the check of its option says what fits.
bool TomlDocument::repair_number(Position where) {
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

bool TomlDocument::repair_syntax(Position where, std::string description) {
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

}  // namespace dtrain
