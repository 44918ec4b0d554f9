// SPDX-License-Identifier: Apache-2.0
#include "core/data/ledger_check.h"

#include <dtrain/error.h>

#include <new>

namespace dtrain {
namespace {

class Checker {
 public:
  explicit Checker(const LedgerHeader& header)
      : header_(header), sampler_(header.sampler()), layout_(header.layout(sampler_)) {
    for (const auto& source : sampler_.sources()) uses_.emplace_back(static_cast<std::size_t>(source.samples));
    report_.epoch_size = layout_.samples_per_epoch();
    report_.steps_per_epoch = layout_.steps_per_epoch();
  }

  void problem(const std::string& text) {
    if (++report_.problem_count <= static_cast<std::int64_t>(LedgerReport::kMaxProblems))
      report_.problems.push_back(text);
  }

  void step(const LedgerStep& entry) {
    const auto expected = last_ + 1;
    if (entry.step != expected) {
      problem("step " + std::to_string(entry.step) + " stands where step " + std::to_string(expected) + " should");
    }
    if (entry.step < 1) return;
    const auto samples = layout_.step(entry.step - 1);
    std::int64_t draws = 0;
    if (__builtin_mul_overflow(sampler_.epoch_size(), samples.epoch + 2, &draws)) return;  // no run is that long
    last_ = entry.step;
    count_epochs(samples.epoch);
    ++report_.steps;
    std::vector<int> seen(static_cast<std::size_t>(samples.micro_batches));
    for (const auto& m : entry.micro_batches) {
      if (m.index < 0 || m.index >= samples.micro_batches) {
        problem(name(entry, m) + " does not exist: the step has " + std::to_string(samples.micro_batches));
      } else {
        ++seen[static_cast<std::size_t>(m.index)];
        micro_batch(entry, m, samples);
      }
    }
    for (std::size_t i = 0; i < seen.size(); ++i) {
      if (seen[i] == 1) continue;
      problem("step " + std::to_string(entry.step) + " micro-batch " + std::to_string(i) +
              (seen[i] == 0 ? " is missing" : " was counted " + std::to_string(seen[i]) + " times"));
    }
  }

  LedgerReport finish(bool torn) {
    report_.whole_epochs = last_ / layout_.steps_per_epoch();
    const auto rest = last_ % layout_.steps_per_epoch();
    if (rest > 0) {
      const auto s = layout_.step(last_ - 1);
      report_.samples_of_next = s.first + s.count;
    }
    count_epochs(report_.whole_epochs);
    if (rest > 0) count_uses(report_.whole_epochs, false);
    report_.torn = torn;
    return report_;
  }

 private:
  static std::string name(const LedgerStep& step, const LedgerEntry& m) {
    return "step " + std::to_string(step.step) + " micro-batch " + std::to_string(m.index) + " (rank " +
           std::to_string(m.rank) + ")";
  }

  void micro_batch(const LedgerStep& step, const LedgerEntry& m, const StepSamples& samples) {
    const auto expected = layout_.micro_batch(samples, m.index);
    report_.samples += m.samples;
    if (m.samples != expected.count) {
      problem(name(step, m) + " had " + std::to_string(m.samples) + " samples instead of " +
              std::to_string(expected.count));
      return;
    }
    const auto order = sampler_.epoch(samples.epoch);
    ids_.clear();
    for (std::int64_t i = 0; i < expected.count; ++i) {
      const auto ref = order.at(samples.first + expected.first + i);
      ids_.push_back(sample_id(ref.source, ref.index));
    }
    if (hash_ids(ids_) != m.ids_hash) {
      problem(name(step, m) + " was fed other samples than the recipe's order has there");
      return;
    }
    for (auto id : ids_) ++uses_[static_cast<std::size_t>(source_of(id))][static_cast<std::size_t>(index_of(id))];
  }

  // Checks the counts at the end of each epoch before `epoch` that was not checked yet.
  void count_epochs(std::int64_t epoch) {
    if (epoch <= counted_epochs_) return;
    counted_epochs_ = epoch;
    count_uses(epoch - 1, true);
  }

  // After all (`whole`) or a part of `epoch`.
  void count_uses(std::int64_t epoch, bool whole) {
    for (std::size_t source = 0; source < uses_.size(); ++source) {
      const auto n = sampler_.sources()[source].samples;
      const auto draws = sampler_.draws_per_epoch(static_cast<std::int64_t>(source)) * (epoch + 1);
      const auto most = draws / n + (draws % n != 0 ? 1 : 0);
      const auto least = whole && !header_.drop_last ? draws / n : 0;
      for (std::size_t i = 0; i < uses_[source].size(); ++i) {
        const std::int64_t used = uses_[source][i];
        if (used >= least && used <= most) continue;
        problem("sample " + std::to_string(i) + " of data source " + std::to_string(source + 1) + " was used " +
                std::to_string(used) + " times " + (whole ? "by the end of" : "in or before") + " epoch " +
                std::to_string(epoch + 1) + "; expected " + (least == most ? "" : std::to_string(least) + " to ") +
                std::to_string(most));
      }
    }
  }

  LedgerHeader header_;
  Sampler sampler_;
  StepLayout layout_;
  std::vector<std::vector<std::uint32_t>> uses_;  // of each source's samples
  std::vector<std::uint64_t> ids_;
  std::int64_t last_ = 0;
  std::int64_t counted_epochs_ = 0;
  LedgerReport report_;
};

std::string number(std::int64_t n, const std::string& what) {
  return std::to_string(n) + " " + what + (n == 1 ? "" : "s");
}

}  // namespace

LedgerReport check_ledger(LedgerReader& ledger) try {
  Checker checker(ledger.header());
  while (true) {
    try {
      const auto step = ledger.next();
      if (!step) break;
      checker.step(*step);
    } catch (const UserError& e) {
      checker.problem(e.message());
    }
  }
  return checker.finish(ledger.torn());
} catch (const std::bad_alloc&) {
  throw UserError("too little memory to count the samples of the ledger: 4 bytes are needed for each of the sources",
                  "check it on a machine with more memory", {}, 1);
}

std::string describe(const LedgerReport& report) {
  std::string out;
  if (report.ok()) {
    out = "ledger ok: " + number(report.steps, "step") + ", " + number(report.samples, "sample") + "; " +
          number(report.whole_epochs, "whole epoch") + " of " + number(report.epoch_size, "sample");
    if (report.whole_epochs > 0) out += ", each used exactly as often as its weight says";
    if (report.samples_of_next > 0) {
      out += "; " + std::to_string(report.samples_of_next) + " of epoch " + std::to_string(report.whole_epochs + 1);
    }
    out += "\n";
  } else {
    out = "ledger NOT ok: " + number(report.problem_count, "difference") + " in " + number(report.steps, "step") + "\n";
    for (const auto& problem : report.problems) out += "  " + problem + "\n";
    const auto more = report.problem_count - static_cast<std::int64_t>(report.problems.size());
    if (more > 0) out += "  and " + std::to_string(more) + " more\n";
  }
  if (report.torn) out += "note: the last line was cut off by a crash and does not count\n";
  return out;
}

}  // namespace dtrain
