// SPDX-License-Identifier: Apache-2.0
//
// Text generation from an autoregressive model: temperature and top-k sampling (Fan et al., "Hierarchical neural story
// generation", 2018), with counter-based draws: the same seed gives the same text.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include <dtrain/model.h>

namespace dtrain {

struct SamplingOptions {
  std::int64_t max_tokens = 200;
  double temperature = 1.0;  // 0: always the most likely token
  std::int64_t top_k = 0;    // 0: all tokens
  std::uint64_t seed = 0;
};

// Index sampled from `logits` with draw number `position` of `seed`. Ties and order are those of the indices.
std::int32_t sample(std::span<const float> logits, const SamplingOptions& options, std::int64_t position);

// Continues `prompt` (not empty) with a model that maps "input" [1,T] to logits [1,T,V]; the context is the last `context`
// tokens. `on_token` sees each new token; returning false ends early. Thread: the one that calls.
void generate(Model& model, std::int64_t context, std::vector<std::int32_t> prompt, const SamplingOptions& options,
              const std::function<bool(std::int32_t)>& on_token);

}  // namespace dtrain
