// SPDX-License-Identifier: Apache-2.0
//
// Writes a run's ledger. One writer a run: the rank that leads the commit.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "core/base/unique_fd.h"
#include "core/data/ledger.h"

namespace dtrain {

// Used by one thread. Failure of the file system: UserError (exit 1) with path, system text and bytes; the ledger then
// ends with the last whole step, and the call may be repeated.
class LedgerWriter {
 public:
  // Opens the ledger of a run that goes on after step `step`; creates it (and its folder) when `step` is 0 and there is
  // none. Steps after `step` and a torn last line are cut off. UserError: the header differs (exit 2: the data changed;
  // every difference is listed), or the ledger does not reach `step` or is damaged before it (exit 1).
  LedgerWriter(const std::filesystem::path& run_dir, const LedgerHeader& header, std::int64_t step);

  // step is last_step() + 1. The line is in the file (though not yet durable) when this returns.
  void append(std::int64_t step, std::span<const LedgerEntry> micro_batches);

  void sync();                          // what was appended survives a power failure
  void truncate_to(std::int64_t step);  // at most last_step()

  std::int64_t last_step() const { return last_step_; }
  // For the manifest of a checkpoint: {"step": last step, "bytes": length of the file}.
  std::string position_json() const;

 private:
  [[noreturn]] void fail(const std::string& operation, int error) const;

  std::filesystem::path file_;
  UniqueFd fd_;
  std::uint64_t size_ = 0;
  std::int64_t last_step_ = 0;
};

}  // namespace dtrain
