// SPDX-License-Identifier: Apache-2.0
#include "core/data/batch_reader.h"

#include <dtrain/error.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <functional>
#include <future>
#include <latch>
#include <map>
#include <mutex>
#include <set>

namespace dtrain {
namespace {

// Sample i: "value" is i, "pair" is (i, first draw).
class Counting final : public DataSet {
 public:
  explicit Counting(std::int64_t size) : size_(size) {
    info_.fields = {{.name = "value", .type = DType::i32, .shape = {}},
                    {.name = "pair", .type = DType::u16, .shape = {3}}};
  }
  const DataInfo& info() const override { return info_; }
  std::int64_t size() const override { return size_; }
  void read(std::int64_t index, rng::Stream& draws, std::span<const std::span<std::byte>> out) const override {
    if (on_read) on_read(index);
    const auto value = static_cast<std::int32_t>(index);
    const std::uint16_t pair[3] = {static_cast<std::uint16_t>(index), static_cast<std::uint16_t>(draws.next()), 7};
    std::memcpy(out[0].data(), &value, out[0].size());
    std::memcpy(out[1].data(), pair, out[1].size());
  }
  std::function<void(std::int64_t)> on_read;

 private:
  std::int64_t size_;
  DataInfo info_;
};

struct Job {
  explicit Job(std::int64_t samples = 40, StepLayout::Spec spec = {.global_batch = 12, .micro_batch = 2, .lanes = 4})
      : set(samples), sampler({{.samples = samples}}, 3, true), layout(with(spec, samples)) {}
  static StepLayout::Spec with(StepLayout::Spec spec, std::int64_t samples) {
    spec.samples = samples;
    return spec;
  }
  BatchReader::Setup setup(int rank, int world, int loaders, std::int64_t steps) const {
    return {.source = {.sources = {&set}, .sampler = &sampler, .layout = &layout, .seed = 3, .rank = rank},
            .world = world,
            .loaders = loaders,
            .end_step = steps};
  }
  // This rank's micro-batches of a step.
  std::int64_t count(std::int64_t step, int rank, int world) const {
    return layout.of_rank(layout.step(step), rank, world).size();
  }
  Counting set;
  Sampler sampler;
  StepLayout layout;
};

struct Seen {
  std::int64_t step, index, first;
  std::vector<std::uint64_t> ids;
  std::vector<std::uint16_t> draws;
  std::uint64_t hash;
  auto operator<=>(const Seen&) const = default;
};

Seen look(const HostBatch& b) {
  Seen seen{.step = b.step,
            .index = b.index,
            .first = b.first,
            .ids = {b.ids().begin(), b.ids().end()},
            .draws = {},
            .hash = b.ids_hash};
  for (std::int64_t i = 0; i < b.count; ++i) {
    std::int32_t value = 0;
    std::uint16_t pair[3];
    std::memcpy(&value, b.field(0).data() + i * 4, 4);
    std::memcpy(pair, b.field(1).data() + i * 6, 6);
    EXPECT_EQ(static_cast<std::uint64_t>(value), seen.ids[static_cast<std::size_t>(i)]);
    EXPECT_EQ(pair[0], value);
    EXPECT_EQ(pair[2], 7);
    seen.draws.push_back(pair[1]);
  }
  return seen;
}

std::vector<Seen> read_all(const Job& job, int world, int loaders, std::int64_t steps, std::int64_t from = 0) {
  std::vector<Seen> all;
  for (int rank = 0; rank < world; ++rank) {
    auto setup = job.setup(rank, world, loaders, steps);
    setup.first_step = from;
    BatchReader reader(setup);
    for (auto step = from; step < steps; ++step) {
      for (std::int64_t i = 0; i < job.count(step, rank, world); ++i) all.push_back(look(*reader.next()));
    }
  }
  std::sort(all.begin(), all.end());
  return all;
}

TEST(BatchReader, SameBatchesForAnyRanksAndLoaders) {
  const Job job;
  const auto reference = read_all(job, 1, 0, 8);
  ASSERT_EQ(reference.size(), 40u);  // 8 steps: two epochs of 40 samples in 20 micro-batches
  for (int world : {1, 2, 3, 4}) {
    for (int loaders : {0, 1, 2, 3}) EXPECT_EQ(read_all(job, world, loaders, 8), reference);
  }
}

TEST(BatchReader, EveryIdOnceAnEpochAndOrdersDiffer) {
  const Job job;
  std::map<std::int64_t, std::vector<std::uint64_t>> epochs;
  for (const auto& seen : read_all(job, 2, 2, 12)) {
    auto& ids = epochs[seen.step / job.layout.steps_per_epoch()];
    ids.insert(ids.end(), seen.ids.begin(), seen.ids.end());
  }
  ASSERT_EQ(epochs.size(), 3u);
  EXPECT_NE(epochs[0], epochs[1]);
  EXPECT_NE(epochs[1], epochs[2]);
  for (auto& [epoch, ids] : epochs) {
    EXPECT_EQ(std::set<std::uint64_t>(ids.begin(), ids.end()).size(), 40u);
    EXPECT_EQ(ids.size(), 40u);
  }
}

// Starting or seeking anywhere (in the middle of an epoch, at its end) continues the uninterrupted stream.
TEST(BatchReader, StartsAndSeeksExactly) {
  const Job job;
  const auto whole = read_all(job, 1, 0, 12);
  for (int loaders : {0, 2}) {
    for (std::int64_t from : {0, 3, 4, 6, 11}) {
      std::vector<Seen> tail;
      std::copy_if(whole.begin(), whole.end(), std::back_inserter(tail), [&](const Seen& s) { return s.step >= from; });
      EXPECT_EQ(read_all(job, 2, loaders, 12, from), tail);

      BatchReader reader(job.setup(0, 1, loaders, 12));
      for (int i = 0; i < 5; ++i) reader.next();
      reader.seek(from);
      for (const auto& expected : tail) EXPECT_EQ(look(*reader.next()), expected);
    }
  }
}

TEST(BatchReader, DrawsDependOnSeedEpochAndSampleOnly) {
  const Job job;
  auto by_sample = [&](int world, std::uint64_t seed) {
    std::map<std::pair<std::int64_t, std::uint64_t>, std::uint16_t> draws;
    for (int rank = 0; rank < world; ++rank) {
      auto setup = job.setup(rank, world, 2, 8);
      setup.source.seed = seed;
      BatchReader reader(setup);
      for (std::int64_t step = 0; step < 8; ++step) {
        for (std::int64_t i = 0; i < job.count(step, rank, world); ++i) {
          const auto batch = reader.next();
          const auto seen = look(*batch);
          for (std::size_t k = 0; k < seen.ids.size(); ++k) draws[{batch->epoch, seen.ids[k]}] = seen.draws[k];
        }
      }
    }
    return draws;
  };
  const auto draws = by_sample(1, 3);
  EXPECT_EQ(by_sample(2, 3), draws);
  EXPECT_NE(by_sample(2, 4), draws);
  std::set<std::uint16_t> values;
  for (const auto& [key, draw] : draws) values.insert(draw);
  EXPECT_GT(values.size(), 75u);  // 80 draws of 16 bits: hardly any coincide
}

TEST(BatchReader, RanksWithoutWorkInAShortStepSkipIt) {
  // 10 samples, micro-batch 1, global 3: the fourth step of an epoch has one sample, on the rank of the last lane.
  const Job job(10, {.global_batch = 3, .micro_batch = 1, .lanes = 3});
  const auto reference = read_all(job, 1, 0, 8);
  EXPECT_EQ(reference.size(), 20u);
  for (int loaders : {0, 2}) EXPECT_EQ(read_all(job, 3, loaders, 8), reference);
}

TEST(BatchReader, RankThatNeverHasWorkStaysIdle) {
  const Job job(1, {.global_batch = 4, .micro_batch = 1, .lanes = 4});
  BatchReader reader(job.setup(0, 4, 1, std::int64_t{1} << 60));  // ends at once
}

TEST(BatchReader, ErrorsComeInOrderWithTheirType) {
  for (int loaders : {0, 2}) {
    Job job;
    const auto good = read_all(job, 1, 0, 4);
    const auto bad = static_cast<std::int64_t>(good[7].ids[1]);
    job.set.on_read = [bad](std::int64_t index) {
      if (index == bad) throw UserError("sample is damaged", "mend it");
    };
    BatchReader reader(job.setup(0, 1, loaders, 4));
    for (std::size_t i = 0; i < 7; ++i) EXPECT_EQ(look(*reader.next()), good[i]);
    for (int again = 0; again < 2; ++again) {
      try {
        reader.next();
        FAIL();
      } catch (const UserError& e) {
        EXPECT_EQ(e.message(), "sample is damaged");
        EXPECT_EQ(e.hint(), "mend it");
      }
    }
    job.set.on_read = nullptr;
  }
}

TEST(BatchReader, SeekRecoversFromAnError) {
  Job job;
  std::atomic<bool> broken = true;
  job.set.on_read = [&](std::int64_t) {
    if (broken) throw std::runtime_error("disk gone");
  };
  BatchReader reader(job.setup(0, 1, 2, 4));
  EXPECT_THROW(reader.next(), std::runtime_error);
  broken = false;
  reader.seek(1);
  EXPECT_EQ(reader.next()->step, 1);
}

TEST(BatchReader, LookAheadIsBounded) {
  Job job(1000, {.global_batch = 100, .micro_batch = 1, .lanes = 1});
  std::atomic<int> reads = 0;
  std::latch enough(5);
  job.set.on_read = [&](std::int64_t) {
    if (++reads <= 5) enough.count_down();
  };
  auto setup = job.setup(0, 1, 2, 10);
  setup.look_ahead = 5;
  {
    BatchReader reader(setup);
    enough.wait();
    // Both loaders now wait for room: a hand-out makes room for one more, no more.
    reader.next();
  }
  EXPECT_GE(reads, 5);
  EXPECT_LE(reads, 6);
}

TEST(BatchReader, ReusesMemory) {
  Job job(1000, {.global_batch = 100, .micro_batch = 4, .lanes = 1});
  for (int loaders : {0, 2}) {
    BatchReader reader(job.setup(0, 1, loaders, 10));
    std::set<const std::byte*> memory;
    for (int i = 0; i < 250; ++i) {
      const auto batch = reader.next();
      memory.insert(batch->field(0).data());
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(batch->field(0).data()) % 64, 0u);
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(batch->field(1).data()) % 64, 0u);
    }
    // What is read ahead, what is being read and what is lent out.
    EXPECT_LE(memory.size(), loaders == 0 ? 1u : 2u + 2u * 2u + 1u + 2u);
  }
}

TEST(BatchReader, LeasesMayBeHeldWhileReadingGoesOn) {
  const Job job;
  BatchReader reader(job.setup(0, 1, 1, 8));
  std::vector<BatchLease> held;
  for (int i = 0; i < 40; ++i) held.push_back(reader.next());
  const auto reference = read_all(job, 1, 0, 8);
  for (std::size_t i = 0; i < held.size(); ++i) EXPECT_EQ(look(*held[i]), reference[i]);
  held.clear();
}

TEST(BatchReader, AbortEndsAWait) {
  Job job;
  std::promise<void> reading;
  std::promise<void> go_on;
  std::once_flag once;
  job.set.on_read = [&, future = go_on.get_future().share()](std::int64_t) {
    std::call_once(once, [&] { reading.set_value(); });
    future.wait();
  };
  BatchReader reader(job.setup(0, 1, 1, 8));
  reading.get_future().wait();
  auto waiting = std::async(std::launch::async, [&] { reader.next(); });
  reader.abort();
  try {
    waiting.get();
    ADD_FAILURE() << "next() returned";
  } catch (const RecoverableError& e) {
    EXPECT_EQ(e.kind(), RecoverableError::Kind::aborted);
  }
  go_on.set_value();
}

TEST(BatchReader, EndsCleanlyWhileLoadersWaitForRoom) {
  const Job job;
  for (int i = 0; i < 20; ++i) {
    BatchReader reader(job.setup(0, 1, 3, 1000));
    if (i % 2 == 0) reader.next();
  }
}

TEST(BatchReader, SeveralSources) {
  const Counting a(6);
  const Counting b(4);
  const Sampler sampler({{.samples = 6}, {.samples = 4, .weight = 0.5}}, 1, true);
  const StepLayout layout({.samples = 8, .global_batch = 8, .micro_batch = 8});
  BatchReader reader({.source = {.sources = {&a, &b}, .sampler = &sampler, .layout = &layout}, .end_step = 2});
  std::multiset<std::uint64_t> ids;
  for (int step = 0; step < 2; ++step) {
    const auto batch = reader.next();
    for (std::int64_t i = 0; i < batch->count; ++i) {
      const auto id = batch->ids()[static_cast<std::size_t>(i)];
      ids.insert(id);
      std::int32_t value = 0;
      std::memcpy(&value, batch->field(0).data() + i * 4, 4);
      EXPECT_EQ(value, index_of(id));
    }
  }
  for (std::int64_t i = 0; i < 6; ++i) EXPECT_EQ(ids.count(sample_id(0, i)), 2u);
  for (std::int64_t i = 0; i < 4; ++i) EXPECT_EQ(ids.count(sample_id(1, i)), 1u);
}

TEST(BatchReader, ReadingPastTheEndIsABug) {
  const Job job;
  for (int loaders : {0, 1}) {
    BatchReader reader(job.setup(0, 1, loaders, 1));
    for (int i = 0; i < 6; ++i) reader.next();
    EXPECT_THROW(reader.next(), InvariantError);
  }
}

}  // namespace
}  // namespace dtrain
