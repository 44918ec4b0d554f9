// SPDX-License-Identifier: Apache-2.0
//
// exp(loss) of a language model: the number of equally likely tokens that the model is as unsure as.
#include <dtrain/metric.h>

#include <cmath>
#include <limits>

namespace {

namespace dt = dtrain;

class Perplexity final : public dt::Metric {
 public:
  Perplexity(const dt::MetricContext&, const dt::NoOptions&) {}
  std::size_t width() const override { return 2; }  // sum of the loss, weight
  bool higher_is_better() const override { return false; }
  void add(const at::Tensor&, const dt::Batch&, const dt::LossValue& loss, std::span<double> a) const override {
    a[0] += loss.sum.item<double>();
    a[1] += loss.weight;
  }
  double finish(std::span<const double> a) const override {
    return a[1] > 0 ? std::exp(a[0] / a[1]) : std::numeric_limits<double>::quiet_NaN();
  }
};

}  // namespace

DTRAIN_PLUGIN("perplexity", "0.1.0", dt::metric<Perplexity>("perplexity"))
