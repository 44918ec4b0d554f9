// SPDX-License-Identifier: Apache-2.0
//
// Reads a ledger step by step.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include "core/data/ledger.h"

namespace dtrain {

// Used by one thread.
class LedgerReader {
 public:
  // UserError: no such file or unreadable (path, system text), no whole header line, or what ledger_header_from() says.
  explicit LedgerReader(std::filesystem::path file);

  const LedgerHeader& header() const { return header_; }

  // The next step; nothing at the end. UserError with file and line for a line that cannot be read; the next call then
  // goes on behind it.
  std::optional<LedgerStep> next();

  std::uint64_t offset() const { return offset_; }  // of the first byte behind what was read so far
  bool torn() const { return torn_; }               // at the end: the last line has no newline

 private:
  std::optional<std::string> line();
  std::string where() const { return file_.string() + ":" + std::to_string(line_number_); }

  std::filesystem::path file_;
  std::ifstream in_;
  LedgerHeader header_;
  std::uint64_t offset_ = 0;
  std::int64_t line_number_ = 0;
  bool torn_ = false;
};

}  // namespace dtrain
