// SPDX-License-Identifier: Apache-2.0
//
// The gpt model written with plain ATen operations, as a PyTorch user would write it: the opponent of dtrain's layers.
#pragma once

#include <ATen/ATen.h>

#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>

namespace dtrain::test {

struct PlainGpt {
  std::int64_t num_layers, num_heads;
  std::function<at::Tensor(const std::string&)> weight;  // by full name

  at::Tensor linear(const at::Tensor& x, const std::string& name) const {
    return at::linear(x, weight(name + ".weight"), weight(name + ".bias"));
  }
  at::Tensor norm(const at::Tensor& x, const std::string& name) const {
    return at::layer_norm(x, {x.size(-1)}, weight(name + ".weight"), weight(name + ".bias"), 1e-5);
  }
  at::Tensor attention(const at::Tensor& x, const std::string& name) const {
    const auto batch = x.size(0), tokens = x.size(1), width = x.size(2);
    const auto parts = linear(x, name + ".qkv").split(width, 2);
    const auto heads = [&](const at::Tensor& t) {
      return t.view({batch, tokens, num_heads, width / num_heads}).transpose(1, 2);
    };
    auto scores = at::matmul(heads(parts[0]), heads(parts[1]).transpose(-2, -1)) *
                  (1.0 / std::sqrt(static_cast<double>(width / num_heads)));
    const auto hidden = at::ones({tokens, tokens}, at::kBool).triu(1);
    scores = scores.masked_fill(hidden, -std::numeric_limits<double>::infinity());
    const auto y =
        at::matmul(at::softmax(scores, -1), heads(parts[2])).transpose(1, 2).contiguous().view({batch, tokens, width});
    return linear(y, name + ".out");
  }
  // ids [B,T] -> logits [B,T,V]; no dropout.
  at::Tensor forward(const at::Tensor& ids, const std::string& head) const {
    auto x = at::embedding(weight("tok.weight"), ids) +
             at::embedding(weight("pos.weight"), at::arange(ids.size(1), at::kLong));
    for (std::int64_t i = 0; i < num_layers; ++i) {
      const auto b = "blocks." + std::to_string(i);
      x = x + attention(norm(x, b + ".norm1"), b + ".attention");
      x = x + linear(at::gelu(linear(norm(x, b + ".norm2"), b + ".up"), "tanh"), b + ".down");
    }
    return at::linear(norm(x, "norm"), weight(head));
  }
};

}  // namespace dtrain::test
