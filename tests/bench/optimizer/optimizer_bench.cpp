// SPDX-License-Identifier: Apache-2.0
//
// How close the optimizers come to the speed of memory on one thread. For each a loop that reads and writes the same
// arrays with one addition an element (after STREAM, McCalpin 1995) is the bound; both are measured in turn, medians of
// the rounds.
//
//   optimizer_bench [MILLIONS_OF_ELEMENTS] [ROUNDS]
#include <dtrain/optimizer.h>
#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "tests/contract/plugin_component.h"

namespace {

using Clock = std::chrono::steady_clock;

// Anonymous memory on huge pages where the system has them, touched once.
float* allocate(std::size_t count) {
  const std::size_t bytes = (count * sizeof(float) + (2UL << 20) - 1) & ~((2UL << 20) - 1);
  auto* data = static_cast<float*>(std::aligned_alloc(2UL << 20, bytes));
  ::madvise(data, bytes, MADV_HUGEPAGE);
  std::fill_n(data, count, 0.001F);
  return data;
}

template <std::size_t Slots>
[[gnu::always_inline]] inline void touch(const std::vector<float*>& arrays, std::size_t count) {
  float* const p = arrays[0];
  const float* const g = arrays[1];
  float* const a = arrays[2];
  float* const b = arrays[1 + Slots];
#pragma GCC ivdep
  for (std::size_t i = 0; i < count; ++i) {
    const float x = g[i] + 1e-9F;
    p[i] += x;
    a[i] += x;
    if constexpr (Slots == 2) b[i] += x;
  }
}
#if defined(__x86_64__)
[[gnu::target("avx2")]]
#endif
void bound(const std::vector<float*>& arrays, std::size_t count) {
  arrays.size() == 4 ? touch<2>(arrays, count) : touch<1>(arrays, count);
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void run(const std::string& name, std::size_t count, int rounds) {
  const dtrain::test::PluginComponent<dtrain::OptimizerKind> component(DTRAIN_PLUGINS "/optimizer_" + name + ".so",
                                                                       name);
  const auto optimizer = component.make({});
  std::vector<float*> arrays;
  for (std::size_t i = 0; i < 2 + optimizer->slots().size(); ++i) arrays.push_back(allocate(count));
  const std::vector<float*> slots(arrays.begin() + 2, arrays.end());
  const std::array<std::int64_t, 1> shape = {static_cast<std::int64_t>(count)};
  std::vector<double> bounds, updates;
  for (int round = 0; round <= rounds; ++round) {
    const auto t0 = Clock::now();
    bound(arrays, count);
    const auto t1 = Clock::now();
    optimizer->update({.lr = 1e-3, .weight_decay = 0.01, .grad_scale = 0.5F, .update = round + 1},
                      {.name = "weight",
                       .shape = shape,
                       .offset = 0,
                       .param = {arrays[0], count},
                       .grad = {arrays[1], count},
                       .slots = slots});
    const auto t2 = Clock::now();
    if (round == 0) continue;
    bounds.push_back(std::chrono::duration<double>(t1 - t0).count());
    updates.push_back(std::chrono::duration<double>(t2 - t1).count());
  }
  const double bytes = static_cast<double>(count) * sizeof(float) * static_cast<double>(2 * arrays.size() - 1);
  std::printf("%-6s  memory %6.1f GB/s  update %6.1f GB/s  %4.0f %% of memory speed\n", name.c_str(),
              bytes / median(bounds) * 1e-9, bytes / median(updates) * 1e-9, 100 * median(bounds) / median(updates));
  for (auto* array : arrays) std::free(array);
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t count = (argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 16) * 1'000'000;
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 7;
  run("sgd", count, rounds);
  run("adamw", count, rounds);
}
