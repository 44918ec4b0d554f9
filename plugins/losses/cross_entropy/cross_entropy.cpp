// SPDX-License-Identifier: Apache-2.0
//
// Softmax cross-entropy: logits [B,C] or [B,T,V] (fp32) against integer "target" [B] or [B,T]. Negative targets and
// those whose "mask" is zero do not count. Sum over the targets that count; weight: their number. Label smoothing as in
// Szegedy et al., "Rethinking the Inception Architecture" (2016), section 7.
#include <dtrain/loss.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <string>

namespace {

namespace dt = dtrain;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

struct Options {
  double label_smoothing = 0;

  constexpr void describe(dt::Schema& s) {
    s.trajectory("label_smoothing", label_smoothing, dt::range(0.0, 0.99),
                 "probability spread evenly over all classes");
  }
};

// The loss of one row of log-probabilities.
double loss_of(const float* row, std::int64_t classes, std::int64_t target, double smoothing) {
  double loss = -(1 - smoothing) * static_cast<double>(row[target]);
  if (smoothing > 0) {
    double sum = 0;
    for (std::int64_t c = 0; c < classes; ++c) sum += static_cast<double>(row[c]);
    loss -= smoothing / static_cast<double>(classes) * sum;
  }
  return loss;
}

// The gradient is made with the loss, while the probabilities are in the cache; backward only hands it on.
struct CrossEntropy : torch::autograd::Function<CrossEntropy> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& logits, const at::Tensor& targets,
                            const at::Tensor& counted, double smoothing, bool differentiate) {
    const auto rows = logits.size(0);
    const auto classes = logits.size(1);
    const auto chunk = std::max<std::int64_t>(1, kChunkElements / classes);
    auto work = at::empty({differentiate ? rows : std::min(chunk, rows), classes}, logits.options());
    const auto* target = targets.data_ptr<std::int64_t>();
    const auto* counts = counted.data_ptr<bool>();
    double sum = 0;
    for (std::int64_t first = 0; first < rows; first += chunk) {
      const auto n = std::min(chunk, rows - first);
      auto part = work.narrow(0, differentiate ? first : 0, n);
      at::_log_softmax_out(part, logits.narrow(0, first, n), 1, /*half_to_float=*/false);
      auto* row = part.data_ptr<float>();
      for (std::int64_t r = 0; r < n; ++r) {
        if (counts[first + r]) sum += loss_of(row + r * classes, classes, target[first + r], smoothing);
      }
      if (differentiate) to_gradient(part, target + first, counts + first, smoothing);
    }
    if (differentiate) ctx->save_for_backward({work});
    return at::scalar_tensor(sum, logits.options());
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    DTRAIN_CHECK(!at::GradMode::is_enabled(), "cross_entropy has no second derivative");
    const auto gradient = ctx->get_saved_variables()[0];
    const auto scale = grads[0].item<float>();
    return {scale == 1.0f ? gradient : gradient * scale, {}, {}, {}, {}};
  }

 private:
  static constexpr std::int64_t kChunkElements = 1 << 16;  // 256 KiB of logits: half a second-level cache

  static void to_gradient(at::Tensor& part, const std::int64_t* target, const bool* counts, double smoothing) {
    part.exp_();
    const auto classes = part.size(1);
    const auto off = static_cast<float>(smoothing / static_cast<double>(classes));
    const auto on = static_cast<float>(1 - smoothing);
    auto* row = part.data_ptr<float>();
    for (std::int64_t r = 0; r < part.size(0); ++r, row += classes) {
      if (!counts[r]) {
        std::fill(row, row + classes, 0.0f);
        continue;
      }
      if (off > 0) {
        for (std::int64_t c = 0; c < classes; ++c) row[c] -= off;
      }
      row[target[r]] -= on;
    }
  }
};

class CrossEntropyLoss final : public dt::Loss {
 public:
  CrossEntropyLoss(const dt::LossContext&, const Options& options) : smoothing_(options.label_smoothing) {}

  dt::LossValue forward(const at::Tensor& output, const dt::Batch& batch) override {
    const auto targets = batch.at("target").contiguous();
    check(output, targets);
    const auto counted = dt::counted_targets(targets, batch).contiguous();
    const auto classes = output.size(-1);
    const auto* target = targets.data_ptr<std::int64_t>();
    const auto* counts = counted.data_ptr<bool>();
    std::int64_t number = 0;
    for (std::int64_t i = 0; i < targets.numel(); ++i) {
      if (!counts[i]) continue;
      ++number;
      if (target[i] >= classes) {
        throw dt::UserError("loss cross_entropy: the batch has the target " + std::to_string(target[i]) +
                                "; the model's output has " + std::to_string(classes) + " classes",
                            "the data and the model disagree: check [model] and [data]");
      }
    }
    const bool differentiate = at::GradMode::is_enabled() && output.requires_grad();
    auto sum = CrossEntropy::apply(output.reshape({-1, classes}).contiguous(), targets.view(-1), counted.view(-1),
                                   smoothing_, differentiate);
    return {.sum = std::move(sum), .weight = static_cast<double>(number)};
  }

 private:
  static void check(const at::Tensor& output, const at::Tensor& targets) {
    if (output.scalar_type() != at::kFloat || output.dim() < 2) {
      throw dt::UserError("loss cross_entropy: the model's output is a " + output.toString() + " of " +
                              std::to_string(output.dim()) + " dimensions",
                          "it takes fp32 logits [B,classes] or [B,T,vocabulary]");
    }
    if (targets.scalar_type() != at::kLong) {
      throw dt::UserError("loss cross_entropy: the field 'target' holds " + targets.toString() + ", not class numbers",
                          "use data with integer targets, or the loss mse");
    }
    if (output.numel() / output.size(-1) != targets.numel()) {
      throw dt::UserError("loss cross_entropy: " + std::to_string(output.numel() / output.size(-1)) +
                              " predictions for " + std::to_string(targets.numel()) + " targets",
                          "the data and the model disagree about the shape of a sample");
    }
  }

  double smoothing_;
};

}  // namespace

DTRAIN_PLUGIN("cross_entropy", "0.1.0", dt::loss<CrossEntropyLoss, Options>("cross_entropy"))
