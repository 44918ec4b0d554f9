// SPDX-License-Identifier: Apache-2.0
//
// metrics.jsonl: one JSON object a line, every step once. After a resume the file continues where the checkpoint stands: lines of
// later steps and a torn last line are cut off first, so a reader never sees a step twice or out of order.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace dtrain {

// Used by one thread of one process. Failure to write is a UserError with exit code 1 (path and system text).
class MetricsLog {
 public:
  // Keeps the lines whose "step" is at most `resume_step` (-1: starts empty). The first line of a new file is
  // {"event":"start","format":1}.
  MetricsLog(std::filesystem::path file, std::int64_t resume_step);
  ~MetricsLog();
  MetricsLog(const MetricsLog&) = delete;
  MetricsLog& operator=(const MetricsLog&) = delete;

  void write(const std::string& json);  // one object without line break; reaches the file at once

 private:
  std::filesystem::path file_;
  int fd_ = -1;
};

}  // namespace dtrain
