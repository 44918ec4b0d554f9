// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace dtrain {

using TextRows = std::vector<std::pair<std::string, std::string>>;

// Two aligned columns, a line a row, indented by two blanks.
std::string text_table(const TextRows& rows);

// The fields of a JSON object as rows: numbers short, nested objects as "outer.inner". "event" is left out.
TextRows json_rows(const std::string& json);

// {"settings": [["name", "value"], ...]} as rows. Empty when there are none.
TextRows settings_rows(const std::string& json);

// "saved  step 100  path /a/b": the event's name and its fields on one line.
std::string event_line(const std::string& json);

}  // namespace dtrain
