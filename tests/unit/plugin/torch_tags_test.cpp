// SPDX-License-Identifier: Apache-2.0
#include <dtrain/comm.h>
#include <dtrain/data.h>
#include <dtrain/loss.h>
#include <dtrain/metric.h>
#include <dtrain/model.h>
#include <dtrain/optimizer.h>
#include <dtrain/schedule.h>
#include <dtrain/store.h>
#include <dtrain/strategy.h>
#include <dtrain/tokenizer.h>
#include <gtest/gtest.h>

#include "core/plugin/host_tags.h"

namespace dtrain {
namespace {

template <class Kind>
class HostTag : public ::testing::Test {};

using Kinds = ::testing::Types<CommKind, DataKind, LossKind, MetricKind, ModelKind, OptimizerKind, ScheduleKind,
                               StoreKind, StrategyKind, TokenizerKind>;
TYPED_TEST_SUITE(HostTag, Kinds);

// The table of a process without libtorch says what a plugin built with the headers says.
TYPED_TEST(HostTag, IsThatOfTheKindsHeader) {
  EXPECT_EQ(host_tag(TypeParam::name), TypeParam::tag());
}

TEST(HostTags, HaveNoOtherKind) {
  EXPECT_EQ(host_tags().size(), 10u);
  EXPECT_EQ(host_tag("telepathy"), "");
}

}  // namespace
}  // namespace dtrain
