// SPDX-License-Identifier: Apache-2.0
#include "core/data/ledger.h"

#include <dtrain/error.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "core/data/ledger_check.h"
#include "core/data/ledger_reader.h"
#include "core/data/ledger_writer.h"
#include "tests/support/temp_folder.h"

namespace dtrain {
namespace {

namespace fs = std::filesystem;

// 40 samples and 10 of weight 0.5, 3 micro-batches of 4 a step: 4 steps an epoch (12, 12, 12, 9).
LedgerHeader header() {
  return {.sources = {{.samples = 40, .weight = 1.0}, {.samples = 10, .weight = 0.5}},
          .seed = 18446744073709551615ull,
          .shuffle = true,
          .drop_last = false,
          .global_batch = 12,
          .micro_batch = 4,
          .lanes = 3};
}

// What an honest run feeds in `step` (from 1).
std::vector<LedgerEntry> entries(const LedgerHeader& h, std::int64_t step) {
  const auto sampler = h.sampler();
  const auto layout = h.layout(sampler);
  const auto samples = layout.step(step - 1);
  std::vector<LedgerEntry> out;
  for (std::int64_t i = 0; i < samples.micro_batches; ++i) {
    const auto m = layout.micro_batch(samples, i);
    std::vector<std::uint64_t> ids;
    for (std::int64_t k = 0; k < m.count; ++k) {
      const auto ref = sampler.epoch(samples.epoch).at(samples.first + m.first + k);
      ids.push_back(sample_id(ref.source, ref.index));
    }
    out.push_back({.index = i, .rank = i % 2, .generation = 1, .samples = m.count, .ids_hash = hash_ids(ids)});
  }
  return out;
}

std::string read(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
void write(const fs::path& file, const std::string& text) {
  std::ofstream(file, std::ios::binary) << text;
}

// The text after `count` lines.
std::string lines(const std::string& text, int count) {
  std::size_t end = 0;
  while (count-- > 0) end = text.find('\n', end) + 1;
  return text.substr(0, end);
}

template <class F>
std::string message_of(F&& f, int exit_code = 2) {
  try {
    f();
  } catch (const UserError& e) {
    EXPECT_EQ(e.exit_code(), exit_code);
    return e.message();
  }
  return "no error";
}

class Ledger : public ::testing::Test {
 protected:
  void write_run(std::int64_t steps) {
    LedgerWriter writer(run_, header(), 0);
    for (std::int64_t step = 1; step <= steps; ++step) writer.append(step, entries(header(), step));
    writer.sync();
  }
  LedgerReport check() const {
    LedgerReader reader(file_);
    return check_ledger(reader);
  }
  TempFolder folder_;
  fs::path run_ = folder_.path() / "a b-ä";
  fs::path file_ = ledger_file(run_);
};

TEST_F(Ledger, IsReadAsItWasWritten) {
  write_run(9);
  LedgerReader reader(file_);
  EXPECT_EQ(reader.header(), header());
  for (std::int64_t step = 1; step <= 9; ++step) {
    const auto read = reader.next();
    ASSERT_TRUE(read.has_value());
    EXPECT_EQ(read->step, step);
    EXPECT_EQ(read->micro_batches, entries(header(), step));
  }
  EXPECT_FALSE(reader.next().has_value());
  EXPECT_FALSE(reader.torn());
  EXPECT_EQ(reader.offset(), fs::file_size(file_));
}

TEST_F(Ledger, HonestRunsPass) {
  write_run(9);
  const auto report = check();
  EXPECT_TRUE(report.ok());
  EXPECT_EQ(report.whole_epochs, 2);
  EXPECT_EQ(report.samples_of_next, 12);
  EXPECT_EQ(describe(report),
            "ledger ok: 9 steps, 102 samples; 2 whole epochs of 45 samples, each used exactly as often as its weight "
            "says; 12 "
            "of epoch 3\n");
}

// A run that is killed and resumed has the same ledger, byte for byte, as one that was not.
TEST_F(Ledger, ResumeContinuesExactly) {
  write_run(9);
  const auto whole = read(file_);
  for (std::int64_t step = 0; step <= 9; ++step) {
    for (const std::string torn : {"", "{\"step\":10,\"micro_ba", "{", "\n", "garbage\n{\"step\":77"}) {
      write(file_, whole + torn);
      LedgerWriter writer(run_, header(), step);
      EXPECT_EQ(writer.last_step(), step);
      for (auto s = step + 1; s <= 9; ++s) writer.append(s, entries(header(), s));
      EXPECT_EQ(read(file_), whole) << "resumed after step " << step;
      EXPECT_EQ(writer.position_json(), "{\"step\":9,\"bytes\":" + std::to_string(whole.size()) + "}");
    }
  }
}

TEST_F(Ledger, TornLineAtAnyByteIsCutOff) {
  write_run(3);
  const auto whole = read(file_);
  const auto two = lines(whole, 3);
  for (auto size = two.size(); size < whole.size(); ++size) {
    write(file_, whole.substr(0, size));
    LedgerReader reader(file_);
    const auto report = check_ledger(reader);
    EXPECT_TRUE(report.ok());
    EXPECT_EQ(report.steps, 2);
    EXPECT_EQ(report.torn, size > two.size());
    LedgerWriter(run_, header(), 2);
    EXPECT_EQ(read(file_), two);
  }
}

TEST_F(Ledger, TruncateToForgetsLaterSteps) {
  write_run(5);
  LedgerWriter writer(run_, header(), 5);
  writer.truncate_to(2);
  writer.append(3, entries(header(), 3));
  EXPECT_TRUE(check().ok());
  EXPECT_EQ(check().steps, 3);
  EXPECT_THROW(writer.append(5, entries(header(), 5)), InvariantError);
}

TEST_F(Ledger, FindsEveryKindOfDifference) {
  struct Case {
    const char* what;
    void (*damage)(std::vector<LedgerStep>&);
    const char* expected;
  };
  const Case cases[] = {
      {"missing step", [](auto& s) { s.erase(s.begin() + 1); }, "step 3 stands where step 2 should"},
      {"repeated step", [](auto& s) { s.insert(s.begin() + 1, s[0]); }, "step 1 stands where step 2 should"},
      {"missing micro-batch", [](auto& s) { s[1].micro_batches.pop_back(); }, "step 2 micro-batch 2 is missing"},
      {"repeated micro-batch", [](auto& s) { s[1].micro_batches.push_back(s[1].micro_batches[0]); },
       "step 2 micro-batch 0 was counted 2 times"},
      {"foreign micro-batch", [](auto& s) { s[1].micro_batches[2].index = 3; },
       "step 2 micro-batch 3 (rank 0) does not exist: the step has 3"},
      {"short micro-batch", [](auto& s) { s[1].micro_batches[1].samples = 3; },
       "step 2 micro-batch 1 (rank 1) had 3 samples instead of 4"},
      {"other samples", [](auto& s) { s[1].micro_batches[1].ids_hash ^= 1; },
       "step 2 micro-batch 1 (rank 1) was fed other samples than the recipe's order has there"},
      {"replayed epoch",
       [](auto& s) {
         std::copy(s.begin(), s.begin() + 4, s.begin() + 4);
         for (int i = 4; i < 8; ++i) s[i].step = i + 1;
       },
       "step 5 micro-batch 0 (rank 0) was fed other samples than the recipe's order has there"},
  };
  for (const auto& c : cases) {
    std::vector<LedgerStep> steps;
    for (std::int64_t i = 1; i <= 9; ++i) steps.push_back({.step = i, .micro_batches = entries(header(), i)});
    c.damage(steps);
    auto text = to_line(header());
    for (const auto& step : steps) text += to_line(step);
    fs::create_directories(file_.parent_path());
    write(file_, text);
    const auto report = check();
    EXPECT_FALSE(report.ok()) << c.what;
    ASSERT_FALSE(report.problems.empty()) << c.what;
    EXPECT_EQ(report.problems[0], c.expected) << c.what;
  }
}

// The counting does not trust the hashes: a step that is missing leaves its samples unused.
TEST_F(Ledger, CountsUses) {
  auto h = header();
  h.sources = {{.samples = 4}};
  h.global_batch = 2;
  h.micro_batch = 2;
  h.shuffle = false;
  fs::create_directories(file_.parent_path());
  write(file_, to_line(h) + to_line({.step = 1, .micro_batches = entries(h, 1)}) +
                   to_line({.step = 2, .micro_batches = {}}) + to_line({.step = 3, .micro_batches = entries(h, 3)}) +
                   to_line({.step = 3, .micro_batches = entries(h, 3)}));
  EXPECT_EQ(describe(check()),
            "ledger NOT ok: 6 differences in 4 steps\n"
            "  step 2 micro-batch 0 is missing\n"
            "  sample 2 of data source 1 was used 0 times by the end of epoch 1; expected 1\n"
            "  sample 3 of data source 1 was used 0 times by the end of epoch 1; expected 1\n"
            "  step 3 stands where step 4 should\n"
            "  sample 0 of data source 1 was used 3 times in or before epoch 2; expected 0 to 2\n"
            "  sample 1 of data source 1 was used 3 times in or before epoch 2; expected 0 to 2\n");
}

TEST_F(Ledger, ProblemsAreListedUpToALimit) {
  fs::create_directories(file_.parent_path());
  auto text = to_line(header());
  for (std::int64_t i = 1; i <= 60; ++i) text += to_line({.step = i, .micro_batches = {}});
  write(file_, text);
  const auto report = check();
  EXPECT_EQ(report.problems.size(), LedgerReport::kMaxProblems);
  EXPECT_GT(report.problem_count, 100);
}

TEST_F(Ledger, DropLastFeedsLess) {
  auto h = header();
  h.drop_last = true;
  LedgerWriter writer(run_, h, 0);
  for (std::int64_t step = 1; step <= 7; ++step) writer.append(step, entries(h, step));
  EXPECT_TRUE(check().ok()) << describe(check());
  EXPECT_EQ(check().epoch_size, 36);
}

TEST_F(Ledger, ChangedDataAreRefused) {
  write_run(2);
  auto h = header();
  h.sources[0].samples = 41;
  h.seed = 7;
  h.micro_batch = 2;
  h.drop_last = true;
  EXPECT_EQ(message_of([&] { LedgerWriter(run_, h, 2); }),
            "the order of data of this run would change:\n"
            "  samples of data source 1: was 40, is 41\n"
            "  run.seed: was 18446744073709551615, is 7\n"
            "  data.drop_last: was 0, is 1\n"
            "  train.micro_batch_size: was 4, is 2");
}

TEST_F(Ledger, TooShortALedgerIsAnError) {
  write_run(2);
  EXPECT_EQ(message_of([&] { LedgerWriter(run_, header(), 3); }, 1),
            "the ledger " + file_.string() + " ends with step 2, but the run goes on after step 3");
  auto text = read(file_);
  write(file_, lines(text, 1) + "{\"step\":1,\"micro_batches\":[[0,0,1,4,\"xyz\"]]}\n");
  EXPECT_EQ(message_of([&] { LedgerWriter(run_, header(), 1); }),
            file_.string() + ":2: not a line of a ledger: not a hash: xyz");
  fs::remove(file_);
  EXPECT_EQ(message_of([&] { LedgerWriter(run_, header(), 2); }),
            "cannot open the ledger " + file_.string() + ": No such file or directory");
}

TEST_F(Ledger, DamagedHeaders) {
  write_run(1);
  const auto good = read(file_);
  auto with = [&](const std::string& from, const std::string& to) {
    auto text = good;
    text.replace(text.find(from), from.size(), to);
    write(file_, text);
    return message_of([&] { LedgerReader reader(file_); });
  };
  const auto at = file_.string() + ":1: ";
  EXPECT_EQ(with("\"format\":1", "\"format\":2"), at + "ledger format 2; this dtrain reads formats up to 1");
  EXPECT_EQ(with("\"seed\"", "\"sead\""), at + "unknown key 'sead' in a ledger of format 1");
  EXPECT_EQ(with("dtrain-ledger", "other"), at + "not a line of a ledger: no ledger header");
  EXPECT_EQ(with("\"lanes\":3", "\"lanes\":0"), at + "not a line of a ledger: a size that is not positive");
  EXPECT_NE(with("{", "["), "no error");
  write(file_, "");
  EXPECT_EQ(message_of([&] { LedgerReader reader(file_); }), file_.string() + ": the ledger has no header");
}

// A full file system (here: a limit on the size of files) leaves a ledger of whole lines.
TEST_F(Ledger, FailedWriteLeavesWholeLines) {
  write_run(3);
  const auto before = read(file_);
  LedgerWriter writer(run_, header(), 3);
  rlimit old{};
  ::getrlimit(RLIMIT_FSIZE, &old);
  rlimit tight = old;
  tight.rlim_cur = before.size() + 10;
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  ::setrlimit(RLIMIT_FSIZE, &tight);
  const auto message = message_of([&] { writer.append(4, entries(header(), 4)); }, 1);
  ::setrlimit(RLIMIT_FSIZE, &old);
  std::signal(SIGXFSZ, handler);
  const auto size = to_line({.step = 4, .micro_batches = entries(header(), 4)}).size();
  EXPECT_EQ(message,
            "cannot write " + std::to_string(size) + " bytes to the ledger " + file_.string() + ": File too large");
  EXPECT_EQ(read(file_), before);
  writer.append(4, entries(header(), 4));
  EXPECT_TRUE(check().ok());
  EXPECT_EQ(check().steps, 4);
}

// A file of format 1, made by the first dtrain that had it: readable for ever.
TEST_F(Ledger, ReadsFormat1) {
  LedgerReader reader(fs::path(DTRAIN_SOURCE) / "tests/fixtures/formats/ledger-1.jsonl");
  EXPECT_EQ(reader.header(), header());
  const auto report = check_ledger(reader);
  EXPECT_TRUE(report.ok()) << describe(report);
  EXPECT_EQ(report.steps, 9);
}

}  // namespace
}  // namespace dtrain
