// SPDX-License-Identifier: Apache-2.0
//
// The ledger: which samples every committed step was really fed. It proves that each was used as often as the recipe
// says.
//
// RUN/ledger/ledger.jsonl, format 1. The first line is the header, an object with
//   format 1, kind "dtrain-ledger", sources [{samples, weight}], seed, shuffle, drop_last, global_batch_size,
//   micro_batch_size, lanes
// and says all that is needed to recompute the order of data without plugins or recipe. Each further line is one step,
// counted from 1 as in metrics.jsonl, in ascending order without gaps:
//   {"step":7,"micro_batches":[[index, rank, generation, samples, "ids hash"], ...]}
// with hash_ids() of the sample ids as 16 hexadecimal digits. A last line without its newline was being written when
// the writer died and does not count.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "core/data/sampler.h"
#include "core/data/step_layout.h"

namespace dtrain {

struct LedgerHeader {
  std::vector<Sampler::Source> sources;
  std::uint64_t seed = 0;
  bool shuffle = true;
  bool drop_last = false;
  std::int64_t global_batch = 0;
  std::int64_t micro_batch = 0;
  std::int64_t lanes = 1;

  static LedgerHeader of(const Sampler& sampler, const StepLayout& layout);
  Sampler sampler() const { return Sampler(sources, seed, shuffle); }
  StepLayout layout(const Sampler& sampler) const;
  bool operator==(const LedgerHeader&) const = default;
};

struct LedgerEntry {
  std::int64_t index = 0;  // of the micro-batch within the step
  std::int64_t rank = 0;   // that computed it
  std::uint64_t generation = 0;
  std::int64_t samples = 0;
  std::uint64_t ids_hash = 0;
  bool operator==(const LedgerEntry&) const = default;
};

struct LedgerStep {
  std::int64_t step = 0;  // from 1
  std::vector<LedgerEntry> micro_batches;
  bool operator==(const LedgerStep&) const = default;
};

std::filesystem::path ledger_file(const std::filesystem::path& run_dir);

// One line each, with its newline.
std::string to_line(const LedgerHeader& header);
std::string to_line(const LedgerStep& step);

// UserError that begins with `where`: a line that is not what the format says; a header of a newer format, or with
// unknown keys.
LedgerHeader ledger_header_from(std::string_view line, const std::string& where);
LedgerStep ledger_step_from(std::string_view line, const std::string& where);

}  // namespace dtrain
