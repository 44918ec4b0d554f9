// SPDX-License-Identifier: Apache-2.0
//
// Proves from a ledger that a run used its data as the recipe says.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/data/ledger_reader.h"

namespace dtrain {

struct LedgerReport {
  static constexpr std::size_t kMaxProblems = 20;

  std::int64_t steps = 0;
  std::int64_t samples = 0;     // fed in all steps
  std::int64_t epoch_size = 0;  // samples that an epoch feeds
  std::int64_t steps_per_epoch = 0;
  std::int64_t whole_epochs = 0;
  std::int64_t samples_of_next = 0;  // fed of the epoch that is not complete
  bool torn = false;                 // the last line was cut off by a crash; not a problem
  std::int64_t problem_count = 0;
  std::vector<std::string> problems;  // the first kMaxProblems

  bool ok() const { return problem_count == 0; }
};

// Checks that steps are 1, 2, 3 ... without gap or repetition; that each step has each of its micro-batches once, with
// the right number of samples; that every hash is that of the ids that the recipe's order has there; and, by counting,
// that no sample was used oftener or (at the end of each whole epoch) more rarely than its source's weight says.
LedgerReport check_ledger(LedgerReader& ledger);

// One or more lines for people.
std::string describe(const LedgerReport& report);

}  // namespace dtrain
