// SPDX-License-Identifier: Apache-2.0
#include "core/comm/comm_thread.h"

#include <dtrain/error.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <latch>
#include <string>
#include <vector>

namespace dtrain {
namespace {

using testing::ElementsAre;

// Writes down what is asked of it. finish() orders it with the test's thread.
class Recorder final : public CommThread::Stages {
 public:
  void post(std::size_t bucket) override { note("post " + std::to_string(bucket)); }
  void complete(std::size_t bucket) override {
    note("complete " + std::to_string(bucket));
    if (bucket == gate_at) gate.wait();
  }
  void drain() override { note("drain"); }
  void fail() noexcept override { seen.push_back("fail"); }

  std::vector<std::string> seen;
  std::string throws_at;
  std::size_t gate_at = 1000;
  std::latch gate{1};

 private:
  void note(const std::string& what) {
    seen.push_back(what);
    if (what == throws_at) throw RecoverableError(RecoverableError::Kind::timeout, what);
  }
};

TEST(CommThread, TakesEachBucketThroughItsStages) {
  Recorder recorder;
  CommThread thread(recorder);
  thread.begin(2);
  EXPECT_TRUE(thread.is_open());
  thread.submit(0);
  thread.submit(1);
  thread.finish();
  EXPECT_FALSE(thread.is_open());
  EXPECT_EQ(recorder.seen.size(), 5u);
  EXPECT_EQ(recorder.seen.front(), "post 0");
  EXPECT_EQ(recorder.seen.back(), "drain");
}

TEST(CommThread, KeepsTwoInFlight) {
  Recorder recorder;
  recorder.gate_at = 0;
  CommThread thread(recorder);
  thread.begin(4);
  for (std::size_t bucket = 0; bucket < 4; ++bucket) thread.submit(bucket);
  recorder.gate.count_down();
  thread.finish();
  std::size_t posted = 0, completed = 0;
  for (const auto& what : recorder.seen) {
    posted += what.starts_with("post");
    completed += what.starts_with("complete");
    EXPECT_LE(posted - completed, CommThread::kInFlight);
  }
  EXPECT_EQ(completed, 4u);
}

TEST(CommThread, RoundsAreAlike) {
  Recorder recorder;
  CommThread thread(recorder);
  for (int round = 0; round < 3; ++round) {
    thread.begin(1);
    thread.submit(0);
    thread.finish();
    EXPECT_THAT(recorder.seen, ElementsAre("post 0", "complete 0", "drain"));
    recorder.seen.clear();
  }
}

TEST(CommThread, ARoundWithoutBuckets) {
  Recorder recorder;
  CommThread thread(recorder);
  thread.begin(0);
  thread.finish();
  EXPECT_TRUE(recorder.seen.empty());
}

TEST(CommThread, FinishThrowsWhatAStageThrew) {
  for (const auto* stage : {"post 0", "complete 0", "complete 1", "drain"}) {
    Recorder recorder;
    recorder.throws_at = stage;
    CommThread thread(recorder);
    thread.begin(2);
    thread.submit(0);
    thread.submit(1);
    try {
      thread.finish();
      ADD_FAILURE() << stage;
    } catch (const RecoverableError& e) {
      EXPECT_STREQ(e.what(), stage);
    }
    EXPECT_EQ(recorder.seen.back(), "fail");
    EXPECT_FALSE(thread.is_open());
    recorder.throws_at.clear();
    recorder.seen.clear();
    thread.begin(1);  // a later round is a round like any other
    thread.submit(0);
    thread.finish();
    EXPECT_EQ(recorder.seen.back(), "drain");
  }
}

TEST(CommThread, RefusesDisorder) {
  Recorder recorder;
  CommThread thread(recorder);
  EXPECT_THROW(thread.submit(0), InvariantError);
  EXPECT_THROW(thread.finish(), InvariantError);
  thread.begin(2);
  EXPECT_THROW(thread.begin(2), InvariantError);
  EXPECT_THROW(thread.submit(1), InvariantError);
  thread.submit(0);
  EXPECT_THROW(thread.finish(), InvariantError);
}

}  // namespace
}  // namespace dtrain
