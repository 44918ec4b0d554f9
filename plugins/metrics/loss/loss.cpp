// SPDX-License-Identifier: Apache-2.0
//
// The objective's value: the sum of all losses over the sum of all weights.
#include <dtrain/metric.h>

#include <limits>

namespace {

namespace dt = dtrain;

class LossMetric final : public dt::Metric {
 public:
  LossMetric(const dt::MetricContext&, const dt::NoOptions&) {}
  std::size_t width() const override { return 2; }  // sum, weight
  bool higher_is_better() const override { return false; }
  void add(const at::Tensor&, const dt::Batch&, const dt::LossValue& loss, std::span<double> a) const override {
    a[0] += loss.sum.item<double>();
    a[1] += loss.weight;
  }
  double finish(std::span<const double> a) const override {
    return a[1] > 0 ? a[0] / a[1] : std::numeric_limits<double>::quiet_NaN();
  }
};

}  // namespace

DTRAIN_PLUGIN("loss", "0.1.0", dt::metric<LossMetric>("loss"))
