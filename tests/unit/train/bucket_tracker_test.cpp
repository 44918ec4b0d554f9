// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "core/train/torch_compute.h"

namespace dtrain {
namespace {

struct Recorder : BucketListener {
  void bucket_ready(std::size_t bucket) override { order.push_back(bucket); }
  std::vector<std::size_t> order;
};

class BucketTrackerTest : public testing::Test {
 protected:
  BucketTrackerTest()
      : layout_(kParams, {}), tracker_(layout_, {{layout_.tensors()[2].offset, layout_.size()}, {0, layout_.tensors()[2].offset}}) {}

  inline static const FlatLayout::Named kParams[] = {{"a", {4}}, {"b", {4}}, {"c", {4}}};
  FlatLayout layout_;
  BucketTracker tracker_;
  Recorder recorder_;
};

TEST_F(BucketTrackerTest, AnnouncesInOrderThoughReadyOutOfOrder) {
  tracker_.begin(&recorder_);
  tracker_.tensor_ready(0);
  tracker_.tensor_ready(1);  // bucket 1 is complete, bucket 0 is not
  EXPECT_TRUE(recorder_.order.empty());
  tracker_.tensor_ready(2);
  EXPECT_EQ(recorder_.order, (std::vector<std::size_t>{0, 1}));
  tracker_.finish();
  EXPECT_EQ(recorder_.order.size(), 2u);
}

TEST_F(BucketTrackerTest, ParametersWithoutGradientDoNotHoldBack) {
  tracker_.begin(&recorder_);
  tracker_.tensor_ready(2);
  tracker_.finish();
  EXPECT_EQ(recorder_.order, (std::vector<std::size_t>{0, 1}));
}

TEST_F(BucketTrackerTest, ASharedParameterCountsOnce) {
  tracker_.begin(&recorder_);
  tracker_.tensor_ready(0);
  tracker_.tensor_ready(0);
  tracker_.tensor_ready(2);
  EXPECT_EQ(recorder_.order, (std::vector<std::size_t>{0}));
}

}  // namespace
}  // namespace dtrain
