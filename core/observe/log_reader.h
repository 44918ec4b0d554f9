// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>

namespace dtrain {

// The log files of a run's ranks, while they grow or long after.
class LogReader {
 public:
  // One rank, or all with every line tagged "[rank N] ". UserError (exit 2): no such logs.
  LogReader(std::filesystem::path run_dir, std::optional<int> rank);

  // The whole lines that have been added since the last call, rank by rank.
  std::string read_new();

 private:
  std::filesystem::path folder_;
  std::optional<int> rank_;
  std::map<int, std::uintmax_t> offsets_;  // by rank
};

}  // namespace dtrain
