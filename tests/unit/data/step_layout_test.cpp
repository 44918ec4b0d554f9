// SPDX-License-Identifier: Apache-2.0
#include "core/data/step_layout.h"

#include <dtrain/error.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dtrain {
namespace {

template <class F>
std::string message_of(F&& f) {
  try {
    f();
  } catch (const UserError& e) {
    return e.message() + " | " + e.hint();
  }
  return "no error";
}

TEST(StepLayout, LastStepOfAnEpochIsShort) {
  const StepLayout layout({.samples = 7, .global_batch = 4, .micro_batch = 1, .lanes = 4});
  EXPECT_EQ(layout.steps_per_epoch(), 2);
  const auto s1 = layout.step(1);
  EXPECT_EQ(s1.epoch, 0);
  EXPECT_EQ(s1.first, 4);
  EXPECT_EQ(s1.count, 3);
  EXPECT_EQ(s1.micro_batches, 3);
  const auto s2 = layout.step(2);
  EXPECT_EQ(s2.epoch, 1);
  EXPECT_EQ(s2.first, 0);
  EXPECT_EQ(s2.count, 4);
}

TEST(StepLayout, LastMicroBatchIsShort) {
  const StepLayout layout({.samples = 21, .global_batch = 16, .micro_batch = 4, .lanes = 4});
  const auto tail = layout.step(1);
  ASSERT_EQ(tail.count, 5);
  ASSERT_EQ(tail.micro_batches, 2);
  EXPECT_EQ(layout.micro_batch(tail, 0).count, 4);
  const auto last = layout.micro_batch(tail, 1);
  EXPECT_EQ(last.first, 4);
  EXPECT_EQ(last.count, 1);
}

TEST(StepLayout, DropLastLeavesTheRestOut) {
  const StepLayout layout({.samples = 11, .global_batch = 4, .micro_batch = 2, .lanes = 2, .drop_last = true});
  EXPECT_EQ(layout.steps_per_epoch(), 2);
  EXPECT_EQ(layout.samples_per_epoch(), 8);
  EXPECT_EQ(layout.step(2).epoch, 1);
  for (int s = 0; s < 4; ++s) EXPECT_EQ(layout.step(s).count, 4);
}

TEST(StepLayout, SixteenLanesOnThreeRanks) {
  EXPECT_EQ(lanes_of_rank(16, 0, 3), (IndexRange{0, 6}));
  EXPECT_EQ(lanes_of_rank(16, 1, 3), (IndexRange{6, 11}));
  EXPECT_EQ(lanes_of_rank(16, 2, 3), (IndexRange{11, 16}));
  EXPECT_EQ(lanes_of_rank(2, 2, 3).size(), 0);
}

// Whatever the shape: every micro-batch is in exactly one lane, every lane has exactly one owner, the samples of the
// step are covered once and in order.
TEST(StepLayout, CoversEverySampleOnce) {
  for (std::int64_t samples : {1, 5, 16, 33, 100}) {
    for (std::int64_t micro : {1, 3, 4}) {
      for (std::int64_t lanes : {1, 2, 5, 8}) {
        const StepLayout layout({.samples = samples, .global_batch = 8 * micro, .micro_batch = micro, .lanes = lanes});
        for (std::int64_t s = 0; s < layout.steps_per_epoch(); ++s) {
          const auto step = layout.step(s);
          for (std::int64_t world = 1; world <= lanes; ++world) {
            std::int64_t next = 0;
            std::int64_t position = 0;
            int last_lane = -1;
            for (std::int64_t rank = 0; rank < world; ++rank) {
              std::int64_t begin = next;
              for (const auto& view : layout.lane_views(step, rank, world)) {
                EXPECT_GT(view.lane, last_lane);
                last_lane = view.lane;
                EXPECT_EQ(view.first_micro_batch, next);
                EXPECT_GE(view.micro_batches, 1);
                for (int i = 0; i < view.micro_batches; ++i) {
                  const auto m = layout.micro_batch(step, next++);
                  EXPECT_EQ(m.first, position);
                  position += m.count;
                }
              }
              const auto own = layout.of_rank(step, rank, world);
              EXPECT_EQ(own.size(), next - begin);
              if (own.size() > 0) {
                EXPECT_EQ(own.begin, begin);
              }
            }
            EXPECT_EQ(next, step.micro_batches);
            EXPECT_EQ(position, step.count);
          }
        }
      }
    }
  }
}

TEST(StepLayout, LengthOfARun) {
  const StepLayout layout({.samples = 10, .global_batch = 4, .micro_batch = 2, .lanes = 2});  // steps of 4, 4, 2
  EXPECT_EQ(layout.total_steps(500, 0, 0, 0), 500);
  EXPECT_EQ(layout.total_steps(0, 3, 0, 0), 9);
  EXPECT_EQ(layout.total_steps(0, 0, 100, 10), 3);  // 10 samples: an epoch
  EXPECT_EQ(layout.total_steps(0, 0, 101, 10), 4);  // 11 samples
  EXPECT_EQ(layout.total_steps(0, 0, 1, 10), 1);
  EXPECT_EQ(layout.total_steps(0, 0, 185, 10), 6);  // 19 samples: an epoch and 4 + 4 + 1
  const StepLayout dropping({.samples = 10, .global_batch = 4, .micro_batch = 2, .lanes = 2, .drop_last = true});
  EXPECT_EQ(dropping.total_steps(0, 0, 90, 10), 3);  // 9 samples of 8 an epoch
}

TEST(StepLayout, Errors) {
  EXPECT_EQ(
      message_of(
          [] { StepLayout({.samples = 5, .global_batch = 8, .micro_batch = 2, .lanes = 4, .drop_last = true}); }),
      "an epoch has 0 steps: its 5 samples do not fill one global batch of 8, and data.drop_last = true drops the "
      "incomplete one | set data.drop_last = false, or train.global_batch_size to at most 5");
  EXPECT_EQ(message_of([] { StepLayout({.samples = 0, .global_batch = 8, .micro_batch = 2}); }),
            "the training data has no samples | check the data sets: `dtrain data show RECIPE` lists their sizes");
  const StepLayout layout({.samples = 10, .global_batch = 4, .micro_batch = 2});
  EXPECT_EQ(message_of([&] { layout.total_steps(0, 0, 100, 0); }),
            "train.tokens needs data that are sequences of tokens, and these are not | set train.steps or train.epochs "
            "instead");
  EXPECT_EQ(message_of([&] { layout.total_steps(0, INT64_MAX, 0, 0); }),
            "train.epochs = 9223372036854775807 of 3 steps each are more steps than can be counted | ");
}

TEST(StepLayout, FewerSamplesThanABatchIsOneStep) {
  const StepLayout layout({.samples = 5, .global_batch = 8, .micro_batch = 2, .lanes = 4});
  EXPECT_EQ(layout.steps_per_epoch(), 1);
  EXPECT_EQ(layout.step(0).count, 5);
  EXPECT_EQ(layout.step(0).micro_batches, 3);
}

}  // namespace
}  // namespace dtrain
