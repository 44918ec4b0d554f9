// SPDX-License-Identifier: Apache-2.0
//
// Share of the targets that count whose class has the largest output. Output [B,C] or [B,T,V], "target" [B] or [B,T];
// what counts is what counts for the loss. Of equal outputs the first wins; a row with a NaN is wrong.
#include <dtrain/metric.h>

#include <limits>
#include <string>

namespace {

namespace dt = dtrain;

class Accuracy final : public dt::Metric {
 public:
  Accuracy(const dt::MetricContext&, const dt::NoOptions&) {}
  std::size_t width() const override { return 2; }  // right ones, all that count
  bool higher_is_better() const override { return true; }

  void add(const at::Tensor& output, const dt::Batch& batch, const dt::LossValue&, std::span<double> a) const override {
    const auto& target = batch.at("target");
    if (target.scalar_type() != at::kLong || output.dim() < 2 || output.numel() / output.size(-1) != target.numel()) {
      throw dt::UserError("metric accuracy: the output has " + std::to_string(output.numel()) +
                              " elements and 'target' is a " + target.toString() + " of " +
                              std::to_string(target.numel()) + " elements",
                          "accuracy needs outputs [B,classes] or [B,T,vocabulary] and one integer target for each");
    }
    const auto [best, where] = output.detach().max(-1);
    const auto counted = dt::counted_targets(target, batch);
    const auto right = (where.reshape(target.sizes()) == target)
                           .logical_and_(counted)
                           .logical_and_(best.isnan().logical_not_().reshape(target.sizes()));
    a[0] += static_cast<double>(right.sum().item<std::int64_t>());
    a[1] += static_cast<double>(counted.sum().item<std::int64_t>());
  }
  double finish(std::span<const double> a) const override {
    return a[1] > 0 ? a[0] / a[1] : std::numeric_limits<double>::quiet_NaN();
  }
};

}  // namespace

DTRAIN_PLUGIN("accuracy", "0.1.0", dt::metric<Accuracy>("accuracy"))
