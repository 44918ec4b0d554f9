// SPDX-License-Identifier: Apache-2.0
//
// What every metric must do. Add an implementation by adding its name to implementations().
#include <dtrain/metric.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/contract/plugin_component.h"

namespace dtrain {
namespace {

std::vector<std::string> implementations() {
  return {"loss", "accuracy", "perplexity"};
}

auto make(const std::string& name) {
  return test::PluginComponent<MetricKind>(std::string(DTRAIN_PLUGINS) + "/metric_" + name + ".so", name).make({});
}

struct Example {
  at::Tensor output;
  Batch batch;
  LossValue loss;
};

Example example(std::int64_t samples) {
  Example e;
  e.output = at::randn({samples, 4, 5});
  e.batch.size = samples;
  e.batch.fields = {{"target", at::randint(-1, 5, {samples, 4}, at::kLong)}};
  const auto counted = counted_targets(e.batch.at("target"), e.batch);
  e.loss.weight = counted.sum().item<double>();
  e.loss.sum = at::scalar_tensor(e.loss.weight * 0.7);
  return e;
}

class MetricContract : public ::testing::TestWithParam<std::string> {
 protected:
  MetricContract() : metric(make(GetParam())) { at::manual_seed(2); }
  std::vector<double> accumulate(std::vector<const Example*> examples) const {
    std::vector<double> a(metric->width());
    for (const auto* e : examples) metric->add(e->output, e->batch, e->loss, a);
    return a;
  }
  decltype(make("")) metric;
};

INSTANTIATE_TEST_SUITE_P(Implementations, MetricContract, ::testing::ValuesIn(implementations()),
                         [](const auto& i) { return i.param; });

TEST_P(MetricContract, MergingEqualsAddingToOneAccumulator) {
  const auto a = example(3), b = example(1), c = example(4);
  const auto together = accumulate({&a, &b, &c});
  auto merged = accumulate({&a, &b});
  metric->merge(merged, accumulate({&c}));
  EXPECT_NEAR(metric->finish(merged), metric->finish(together), 1e-12);
}

TEST_P(MetricContract, AnEmptyAccumulatorChangesNothing) {
  const auto a = example(3);
  auto merged = accumulate({&a});
  metric->merge(merged, std::vector<double>(metric->width()));
  EXPECT_EQ(merged, accumulate({&a}));
}

TEST_P(MetricContract, NothingThatCountsIsNotANumber) {
  EXPECT_TRUE(std::isnan(metric->finish(std::vector<double>(metric->width()))));
}

TEST_P(MetricContract, AddingDoesNotTouchTheGraph) {
  auto e = example(2);
  e.output.requires_grad_(true);
  const auto before = e.output.detach().clone();
  accumulate({&e});
  EXPECT_TRUE(at::equal(before, e.output));
  EXPECT_FALSE(e.output.grad().defined());
}

TEST(Metrics, KnownValues) {
  Example e;
  e.output = at::tensor({0.1F, 0.9F, 0.8F, 0.2F, 0.5F, 0.5F, 0.0F, 1.0F, NAN, 1.0F}).view({5, 2});
  e.batch.size = 5;
  e.batch.fields = {{"target", at::tensor({1, 1, 0, -1, 1}, at::kLong)}};
  e.loss = {.sum = at::scalar_tensor(std::log(3.0) * 4), .weight = 4};
  const auto value = [&](const std::string& name) {
    const auto metric = make(name);
    std::vector<double> a(metric->width());
    metric->add(e.output, e.batch, e.loss, a);
    return metric->finish(a);
  };
  EXPECT_EQ(value("accuracy"), 2.0 / 4);  // right, wrong, first of two equal ones, does not count, NaN is wrong
  EXPECT_NEAR(value("loss"), std::log(3.0), 1e-6);
  EXPECT_NEAR(value("perplexity"), 3, 1e-5);
  e.batch.fields.emplace_back("mask", at::tensor({1, 0, 1, 1, 0}, at::kLong));
  EXPECT_EQ(value("accuracy"), 1);
  EXPECT_TRUE(make("accuracy")->higher_is_better());
  EXPECT_FALSE(make("loss")->higher_is_better());
  EXPECT_FALSE(make("perplexity")->higher_is_better());
}

TEST(Metrics, AccuracyRefusesWhatIsNotAClassification) {
  const auto metric = make("accuracy");
  Batch batch;
  batch.size = 2;
  batch.fields = {{"target", at::zeros({2, 3})}};
  std::vector<double> a(metric->width());
  try {
    metric->add(at::zeros({2, 3}), batch, {.sum = at::zeros({}), .weight = 1}, a);
    FAIL();
  } catch (const UserError& e) {
    EXPECT_EQ(e.message(), "metric accuracy: the output has 6 elements and 'target' is a CPUFloatType of 6 elements");
    EXPECT_EQ(e.hint(), "accuracy needs outputs [B,classes] or [B,T,vocabulary] and one integer target for each");
  }
}

}  // namespace
}  // namespace dtrain
