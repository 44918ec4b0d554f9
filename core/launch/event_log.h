// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

#include "core/base/line_file.h"

namespace dtrain {

// events.jsonl of a run: membership, faults, saves. One JSON object a line with at least "format" (1), "time" (UTC) and
// "event". The agent is its only writer.
class EventLog {
 public:
  static constexpr int kFormat = 1;

  EventLog() = default;
  explicit EventLog(const std::filesystem::path& run_dir) : file_(run_dir / "events.jsonl") {}

  // Adds format and time to a JSON object and appends it. False when it is not an object, or could not be written.
  bool add(const std::string& json);

 private:
  LineFile file_;
};

}  // namespace dtrain
