// SPDX-License-Identifier: Apache-2.0
#include "core/infer/generator.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>

#include <dtrain/error.h>
#include <dtrain/rng.h>

namespace dtrain {

std::int32_t sample(std::span<const float> logits, const SamplingOptions& options, std::int64_t position) {
  DTRAIN_CHECK(!logits.empty());
  std::vector<std::int32_t> order(logits.size());
  std::iota(order.begin(), order.end(), 0);
  auto keep = options.temperature <= 0 ? std::size_t{1} : logits.size();
  if (options.top_k > 0) keep = std::min(keep, static_cast<std::size_t>(options.top_k));
  const auto more_likely = [&](std::int32_t a, std::int32_t b) {
    const float x = logits[static_cast<std::size_t>(a)];
    const float y = logits[static_cast<std::size_t>(b)];
    return x != y ? x > y : a < b;
  };
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(keep), order.end(), more_likely);
  if (keep == 1) return order[0];

  const double top = logits[static_cast<std::size_t>(order[0])];
  std::vector<double> weights(keep);
  for (std::size_t i = 0; i < keep; ++i) {
    weights[i] = std::exp((logits[static_cast<std::size_t>(order[i])] - top) / options.temperature);
  }
  const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
  rng::Stream draws(rng::key(options.seed, "generate"), static_cast<std::uint64_t>(position));
  double rest = static_cast<double>(draws.next()) * 0x1.0p-32 * total;
  for (std::size_t i = 0; i < keep; ++i) {
    rest -= weights[i];
    if (rest < 0) return order[i];
  }
  return order[keep - 1];
}

void generate(Model& model, std::int64_t context, std::vector<std::int32_t> prompt, const SamplingOptions& options,
              const std::function<bool(std::int32_t)>& on_token) {
  DTRAIN_CHECK(!prompt.empty());
  const at::AutoGradMode no_gradients(false);
  auto& tokens = prompt;
  for (std::int64_t i = 0; i < options.max_tokens; ++i) {
    const auto length = std::min<std::int64_t>(context, static_cast<std::int64_t>(tokens.size()));
    auto input = at::empty({1, length}, at::kLong);
    std::copy(tokens.end() - length, tokens.end(), input.data_ptr<std::int64_t>());
    Batch batch{.fields = {{"input", input}}, .size = 1, .first_position = 0, .step = 0, .training = false};
    const auto logits = model.forward(batch).select(1, length - 1).contiguous();
    const std::span<const float> row(logits.data_ptr<float>(), static_cast<std::size_t>(logits.numel()));
    tokens.push_back(sample(row, options, i));
    if (!on_token(tokens.back())) return;
  }
}

}  // namespace dtrain
