// SPDX-License-Identifier: Apache-2.0
//
// Squared error: predictions (fp32) against "target" with as many elements. An optional "mask" has one element a sample
// or one an element; zero: does not count. Sum over the elements that count; weight: their number, so that sum / weight
// is the mean squared error.
#include <dtrain/loss.h>

#include <string>

namespace {

namespace dt = dtrain;

class MseLoss final : public dt::Loss {
 public:
  MseLoss(const dt::LossContext&, const dt::NoOptions&) {}

  dt::LossValue forward(const at::Tensor& output, const dt::Batch& batch) override {
    const auto& target = batch.at("target");
    if (output.numel() != target.numel() || output.size(0) != target.size(0)) {
      throw dt::UserError("loss mse: the model's output has " + std::to_string(output.numel()) +
                              " elements, the field 'target' has " + std::to_string(target.numel()),
                          "the data and the model disagree about the shape of a sample");
    }
    const auto difference = output - target.to(output.scalar_type()).reshape(output.sizes());
    if (!batch.has("mask")) return {.sum = difference.square().sum(), .weight = static_cast<double>(output.numel())};
    const auto counted = counted_elements(batch.at("mask"), output);
    // Chosen, not multiplied: a prediction that does not count may be NaN.
    const auto squares = at::where(counted, difference, at::zeros_like(difference)).square();
    return {.sum = squares.sum(), .weight = static_cast<double>(counted.sum().item<std::int64_t>())};
  }

 private:
  static at::Tensor counted_elements(const at::Tensor& mask, const at::Tensor& output) {
    const auto counts = mask != 0;
    if (mask.numel() == output.numel()) return counts.reshape(output.sizes());
    if (mask.numel() == output.size(0)) {
      std::vector<std::int64_t> shape(static_cast<std::size_t>(output.dim()), 1);
      shape[0] = output.size(0);
      return counts.reshape(shape).expand_as(output);
    }
    throw dt::UserError("loss mse: the field 'mask' has " + std::to_string(mask.numel()) +
                            " elements; the output has " + std::to_string(output.size(0)) + " samples of " +
                            std::to_string(output.numel() / output.size(0)) + " elements",
                        "a mask has one element for each sample or for each element");
  }
};

}  // namespace

DTRAIN_PLUGIN("mse", "0.1.0", dt::loss<MseLoss>("mse"))
