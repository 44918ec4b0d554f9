// SPDX-License-Identifier: Apache-2.0
//
// Forward and backward of the gpt model: dtrain's layers against the same mathematics in plain ATen operations,
// interleaved, in one process, one thread. Prints medians in milliseconds.
//
//   nn_bench [--rounds N] [--keep-memory]     --keep-memory: glibc keeps freed memory, as dtrain's workers ask it to
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <dtrain/loss.h>
#include <malloc.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "tests/bench/nn/plain_gpt.h"
#include "tests/contract/plugin_component.h"
#include "tests/unit/nn/model_bench.h"

namespace {

using namespace dtrain;
using test::Bench;

constexpr std::int64_t kLayers = 6, kWidth = 256, kHeads = 8, kTokens = 128, kVocabulary = 256, kMicroBatch = 8;

double processor_ms() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) * 1e-6;
}

double milliseconds(const std::function<void()>& work) {
  const auto begin = processor_ms();
  work();
  return processor_ms() - begin;
}

double median(std::vector<double> v) {
  std::ranges::nth_element(v, v.begin() + static_cast<std::ptrdiff_t>(v.size() / 2));
  return v[v.size() / 2];
}

void zero(Bench& bench) {
  for (auto& g : bench.grads) std::ranges::fill(g, 0.0f);
}

int run(int rounds) {
  Bench ours(1), plain(1);
  for (auto* bench : {&ours, &plain}) {
    bench->data.vocab_size = kVocabulary;
    bench->data.seq_len = kTokens;
  }
  const OptionValues options{{"num_layers", kLayers}, {"hidden_size", kWidth}, {"num_heads", kHeads}};
  const std::string plugins = DTRAIN_PLUGINS;
  const test::PluginComponent<ModelKind> gpt(plugins + "/model_gpt.so", "gpt");
  const auto model = gpt.make(ours.build(), options);
  const auto same = gpt.make(plain.build(), options);  // for its weights
  const auto loss = test::PluginComponent<LossKind>(plugins + "/loss_cross_entropy.so", "cross_entropy").make({});
  ours.bind();
  plain.bind();
  at::manual_seed(1);
  const auto ids = at::randint(0, kVocabulary, {kMicroBatch, kTokens}, at::kLong);
  auto batch = test::batch_of(ids);
  batch.fields.emplace_back("target", at::randint(0, kVocabulary, {kMicroBatch, kTokens}, at::kLong));
  const test::PlainGpt reference{kLayers, kHeads, [&](const std::string& name) { return plain.tensor(name); }};

  std::vector<double> ours_forward, ours_backward, plain_forward, plain_backward;
  double our_loss = 0, plain_loss = 0;
  for (int round = -2; round < rounds; ++round) {
    LossValue value;
    at::Tensor sum;
    zero(ours);
    zero(plain);
    const double a = milliseconds([&] { value = loss->forward(model->forward(batch), batch); });
    const double b = milliseconds([&] { value.sum.backward(); });
    const double c = milliseconds([&] {
      sum = at::cross_entropy_loss(reference.forward(ids, "tok.weight").view({-1, kVocabulary}),
                                   batch.at("target").view(-1), {}, at::Reduction::Sum);
    });
    const double d = milliseconds([&] { sum.backward(); });
    our_loss = value.sum.item<double>();
    plain_loss = sum.item<double>();
    if (round < 0) continue;  // warm-up
    ours_forward.push_back(a);
    ours_backward.push_back(b);
    plain_forward.push_back(c);
    plain_backward.push_back(d);
  }
  const double ours_total = median(ours_forward) + median(ours_backward);
  const double plain_total = median(plain_forward) + median(plain_backward);
  std::printf("kernels=%s rounds=%d loss ours=%.4f plain=%.4f\n", kernels::best().instruction_set, rounds, our_loss,
              plain_loss);
  std::printf("forward_ms  ours=%.1f plain=%.1f\n", median(ours_forward), median(plain_forward));
  std::printf("backward_ms ours=%.1f plain=%.1f\n", median(ours_backward), median(plain_backward));
  std::printf("total_ms    ours=%.1f plain=%.1f ratio=%.3f\n", ours_total, plain_total, ours_total / plain_total);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  int rounds = 9;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--keep-memory") == 0) {
      ::mallopt(M_MMAP_THRESHOLD, 1 << 30);
      ::mallopt(M_TRIM_THRESHOLD, std::numeric_limits<int>::max());
    } else if (std::strcmp(argv[i], "--rounds") == 0 && i + 1 < argc) {
      rounds = std::max(1, std::atoi(argv[++i]));
    } else {
      std::fprintf(stderr, "usage: nn_bench [--rounds N] [--keep-memory]\n");
      return 2;
    }
  }
  at::set_num_threads(1);
  return run(rounds);
}
