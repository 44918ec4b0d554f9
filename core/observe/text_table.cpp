// SPDX-License-Identifier: Apache-2.0
#include "core/observe/text_table.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace dtrain {
namespace {

using nlohmann::ordered_json;

std::string shown(const ordered_json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_float()) {
    char text[32];
    std::snprintf(text, sizeof text, "%.5g", value.get<double>());
    return text;
  }
  return value.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

void add_rows(const ordered_json& object, const std::string& prefix, TextRows& rows) {
  for (const auto& [name, value] : object.items()) {
    if (prefix.empty() && name == "event") continue;
    if (value.is_object()) {
      add_rows(value, prefix + name + ".", rows);
    } else {
      rows.emplace_back(prefix + name, shown(value));
    }
  }
}

}  // namespace

std::string text_table(const TextRows& rows) {
  std::size_t width = 0;
  for (const auto& row : rows) width = std::max(width, row.first.size());
  std::string out;
  for (const auto& [name, value] : rows) {
    out += "  " + name + std::string(width - name.size() + 2, ' ') + value + "\n";
  }
  return out;
}

TextRows json_rows(const std::string& json) {
  TextRows rows;
  const auto object = ordered_json::parse(json, nullptr, false);
  if (object.is_object()) add_rows(object, "", rows);
  return rows;
}

TextRows settings_rows(const std::string& json) {
  TextRows rows;
  const auto object = ordered_json::parse(json, nullptr, false);
  if (!object.is_object() || !object.contains("settings")) return rows;
  for (const auto& row : object.at("settings")) {
    if (row.is_array() && row.size() == 2) rows.emplace_back(shown(row[0]), shown(row[1]));
  }
  return rows;
}

std::string event_line(const std::string& json) {
  const auto object = ordered_json::parse(json, nullptr, false);
  if (!object.is_object()) return json + "\n";
  std::string out = object.contains("event") ? shown(object.at("event")) : "report";
  for (const auto& [name, value] : json_rows(json)) out += "  " + name + " " + value;
  return out + "\n";
}

}  // namespace dtrain
