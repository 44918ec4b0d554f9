// SPDX-License-Identifier: Apache-2.0
#include "core/recipe/format.h"

#include <dtrain/error.h>

#include <algorithm>
#include <vector>

#include "core/recipe/toml_reader.h"

namespace dtrain {
namespace {

std::string_view trim(std::string_view text) {
  const auto begin = text.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

// Follows quotes and brackets through the text, line by line.
class Scanner {
 public:
  struct Line {
    std::size_t equals = std::string::npos;   // the '=' behind the key
    std::size_t comment = std::string::npos;  // the '#'
    bool starts_in_string = false;            // of three quotes: every blank counts
    bool ends_in_string = false;
    bool starts_in_value = false;  // of several lines
    int depth = 0;                 // of brackets at the start, a closing one that begins the line taken off
  };

  Line scan(std::string_view text) {
    Line line;
    line.starts_in_string = !quote_.empty();
    line.starts_in_value = depth_ > 0 || line.starts_in_string;
    const auto first = trim(text);
    line.depth = depth_ - (!first.empty() && (first.front() == ']' || first.front() == '}') ? 1 : 0);
    const bool header = !line.starts_in_value && first.starts_with('[');
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (!quote_.empty()) {
        i = inside(text, i);
      } else if (text[i] == '"' || text[i] == '\'') {
        quote_ = text.substr(i, 3) == std::string(3, text[i]) ? std::string(3, text[i]) : std::string(1, text[i]);
        i += quote_.size() - 1;
      } else if (text[i] == '#') {
        line.comment = i;
        break;
      } else if (text[i] == '=' && line.equals == std::string::npos && !line.starts_in_value) {
        line.equals = i;
      } else if (!header && (text[i] == '[' || text[i] == '{')) {
        ++depth_;
      } else if (!header && (text[i] == ']' || text[i] == '}')) {
        --depth_;
      }
    }
    line.ends_in_string = !quote_.empty();
    return line;
  }

 private:
  std::size_t inside(std::string_view text, std::size_t i) {
    if (text[i] == '\\' && quote_[0] == '"') return i + 1;
    if (text.substr(i, quote_.size()) != quote_) return i;
    auto end = i + quote_.size() - 1;
    // A string of three quotes may end in up to two quotes more.
    while (quote_.size() == 3 && end + 1 < text.size() && text[end + 1] == quote_[0]) ++end;
    quote_.clear();
    return end;
  }

  std::string quote_;
  int depth_ = 0;
};

std::string format_line(std::string_view text, const Scanner::Line& line) {
  if (line.starts_in_string) return std::string(text);  // every blank counts
  const auto body = text.substr(0, line.comment);
  std::string out;
  if (line.starts_in_value) {
    out = std::string(static_cast<std::size_t>(std::max(line.depth, 0)) * 2, ' ') + std::string(trim(body));
  } else if (line.equals != std::string::npos) {
    out = std::string(trim(body.substr(0, line.equals))) + " = ";
    auto value = body.substr(line.equals + 1);
    if (line.ends_in_string) {
      value.remove_prefix(std::min(value.find_first_not_of(" \t"), value.size()));
      return out + std::string(value);
    }
    out += trim(value);
  } else {
    out = trim(body);
  }
  if (line.comment == std::string_view::npos) {
    // Lines of an array that hold nothing end up as blanks only.
    return trim(out).empty() ? "" : out;
  }
  const auto comment = trim(text.substr(line.comment));
  return trim(out).empty() ? out + std::string(comment) : out + "  " + std::string(comment);
}

bool same(const Value& a, const Value& b);

bool same(const Table& a, const Table& b) {
  return std::equal(a.entries().begin(), a.entries().end(), b.entries().begin(), b.entries().end(),
                    [](const Entry& x, const Entry& y) { return x.key == y.key && same(x.value, y.value); });
}

bool same(const Value& a, const Value& b) {
  if (a.data.index() != b.data.index()) return false;
  if (const auto* table = a.as<Table>()) return same(*table, *b.as<Table>());
  if (const auto* list = a.as<Array>()) {
    return std::equal(list->begin(), list->end(), b.as<Array>()->begin(), b.as<Array>()->end(),
                      [](const Value& x, const Value& y) { return same(x, y); });
  }
  return describe(a) == describe(b);
}

Value read(std::string_view text, const std::string& name) {
  MistakeList mistakes;
  auto value = read_toml(text, name, "/", mistakes);
  mistakes.throw_if_any();
  DTRAIN_CHECK(value.has_value());
  return *value;
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> out;
  for (std::size_t begin = 0; begin < text.size();) {
    const auto end = std::min(text.find('\n', begin), text.size());
    out.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return out;
}

// Where the comments right above a table begin: the empty line goes before them.
void separate_table(std::vector<std::string>& out) {
  auto at = out.size();
  while (at > 0 && out[at - 1].starts_with('#')) --at;
  if (at > 0 && !out[at - 1].empty()) out.insert(out.begin() + static_cast<std::ptrdiff_t>(at), "");
}

}  // namespace

std::string format_recipe(std::string_view text, const std::string& name) {
  const auto before = read(text, name);
  std::vector<std::string> out;
  Scanner scanner;
  for (const auto raw : lines_of(text)) {
    const auto line = scanner.scan(raw);
    auto formatted = format_line(raw, line);
    if (!line.starts_in_value && formatted.empty() && (out.empty() || out.back().empty())) continue;
    if (!line.starts_in_value && formatted.starts_with('[')) separate_table(out);
    out.push_back(std::move(formatted));
  }
  while (!out.empty() && out.back().empty()) out.pop_back();
  std::string joined;
  for (const auto& line : out) joined += line + "\n";
  DTRAIN_CHECK(same(before, read(joined, name)), name);
  return joined;
}

}  // namespace dtrain
