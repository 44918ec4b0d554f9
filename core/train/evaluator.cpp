// SPDX-License-Identifier: Apache-2.0
#include "core/train/evaluator.h"

#include <cstring>
#include <optional>

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>

#include <dtrain/error.h>

#include "core/comm/exchange.h"

namespace dtrain {
namespace {

// One lane's accumulators of all metrics, one after the other.
using Accumulators = std::vector<double>;

std::vector<std::byte> encode(const std::vector<std::pair<std::int64_t, Accumulators>>& lanes) {
  std::vector<std::byte> out;
  auto put = [&out](const void* data, std::size_t bytes) {
    const auto* begin = static_cast<const std::byte*>(data);
    out.insert(out.end(), begin, begin + bytes);
  };
  for (const auto& [lane, values] : lanes) {
    put(&lane, sizeof(lane));
    put(values.data(), values.size() * sizeof(double));
  }
  return out;
}

}  // namespace

MetricValues Evaluator::run() {
  const at::AutoGradMode no_gradients(false);
  std::size_t width = 0;
  for (const auto& [name, metric] : s_.metrics) width += metric->width();

  s_.load_buffers();
  const auto feed = s_.open();
  std::vector<std::pair<std::int64_t, Accumulators>> mine;
  for (const auto& lane : s_.lanes) {
    auto& sums = mine.emplace_back(lane.lane, Accumulators(width)).second;
    for (int i = 0; i < lane.micro_batches; ++i) {
      const auto fed = feed->next();
      const auto output = s_.model->forward(fed.batch);
      const auto loss = s_.loss->forward(output, fed.batch);
      std::span<double> rest(sums);
      for (const auto& [name, metric] : s_.metrics) {
        metric->add(output, fed.batch, loss, rest.first(metric->width()));
        rest = rest.subspan(metric->width());
      }
    }
  }

  std::vector<std::optional<Accumulators>> lanes(static_cast<std::size_t>(s_.total_lanes));
  const auto message = encode(mine);
  const auto messages =
      s_.group == nullptr ? std::vector<std::vector<std::byte>>{message} : all_gather_bytes(*s_.group, message);
  const std::size_t stride = sizeof(std::int64_t) + width * sizeof(double);
  for (const auto& bytes : messages) {
    DTRAIN_CHECK(bytes.size() % stride == 0, "evaluation message of " + std::to_string(bytes.size()) + " bytes");
    for (std::size_t at = 0; at < bytes.size(); at += stride) {
      std::int64_t lane = 0;
      std::memcpy(&lane, bytes.data() + at, sizeof(lane));
      auto& slot = lanes.at(static_cast<std::size_t>(lane)).emplace(width);
      std::memcpy(slot.data(), bytes.data() + at + sizeof(lane), width * sizeof(double));
    }
  }

  MetricValues result;
  std::size_t offset = 0;
  for (const auto& [name, metric] : s_.metrics) {
    Accumulators total(metric->width());
    for (const auto& lane : lanes) {
      if (lane) metric->merge(total, std::span(*lane).subspan(offset, metric->width()));
    }
    result.emplace_back(name, metric->finish(total));
    offset += metric->width();
  }
  return result;
}

}  // namespace dtrain
