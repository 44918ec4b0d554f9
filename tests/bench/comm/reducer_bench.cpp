// SPDX-License-Identifier: Apache-2.0
//
// Canonical against native reduction over Gloo: processes on this host, one lane a rank, both kinds in turn, medians of
// the rounds. A round is begin, all starts, finish, after a barrier; nothing overlaps it, so it shows the whole cost.
//
//   reducer_bench [--ranks N] [--elements N] [--bucket ELEMENTS] [--rounds N] [--json]
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "core/comm/exchange.h"
#include "core/comm/reducer.h"
#include "tests/contract/comm/board.h"
#include "tests/contract/plugin_component.h"
#include "tests/support/temp_folder.h"

namespace {

using Clock = std::chrono::steady_clock;

struct Settings {
  int ranks = 2;
  std::size_t elements = 10'000'000;
  std::size_t bucket = 6'553'600;  // 25 MiB
  int rounds = 21;
  bool json = false;
};

Settings parse(int argc, char** argv) {
  Settings s;
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    if (name == "--json") {
      s.json = true;
      continue;
    }
    const long value = i + 1 < argc ? std::atol(argv[++i]) : 0;
    if (value <= 0 || (name != "--ranks" && name != "--elements" && name != "--bucket" && name != "--rounds")) {
      std::fprintf(stderr,
                   "usage: reducer_bench [--ranks N] [--elements N] [--bucket ELEMENTS] [--rounds N] [--json]\n");
      std::exit(2);
    }
    if (name == "--ranks") s.ranks = static_cast<int>(value);
    if (name == "--elements") s.elements = static_cast<std::size_t>(value);
    if (name == "--bucket") s.bucket = static_cast<std::size_t>(value);
    if (name == "--rounds") s.rounds = static_cast<int>(value);
  }
  return s;
}

std::vector<dtrain::Bucket> buckets_of(const Settings& s) {
  std::vector<dtrain::Bucket> out;
  const auto ranks = static_cast<std::size_t>(s.ranks);
  for (std::size_t begin = 0; begin < s.elements; begin += s.bucket) {
    const auto count = std::min(s.bucket, s.elements - begin);
    auto& bucket = out.emplace_back();
    for (std::size_t rank = 0; rank <= ranks; ++rank) bucket.cuts.push_back(begin + count * rank / ranks);
  }
  return out;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void report(const Settings& s, double canonical, double native) {
  const double moved =
      2.0 * static_cast<double>(s.elements) * sizeof(float) * (s.ranks - 1) / s.ranks;  // bytes out of a rank
  const char* text = s.json ? "{\"ranks\":%d,\"elements\":%zu,\"rounds\":%d,\"canonical_ms\":%.3f,\"native_ms\":%.3f,"
                              "\"ratio\":%.4f,\"canonical_gb_per_s\":%.3f,\"native_gb_per_s\":%.3f}\n"
                            : "%d ranks, %zu elements, %d rounds: canonical %.2f ms, native %.2f ms, ratio %.3f "
                              "(%.2f and %.2f GB/s out of a rank)\n";
  std::printf(text, s.ranks, s.elements, s.rounds, canonical, native, canonical / native, moved / canonical / 1e6,
              moved / native / 1e6);
}

void run_rank(const Settings& s, int rank, const std::filesystem::path& folder) {
  using namespace dtrain;
  test::FolderBoard board(folder);
  const test::PluginComponent<CommKind> gloo(DTRAIN_PLUGINS "/comm_gloo.so", "gloo");
  const auto group = gloo.make({.rank = rank, .size = s.ranks, .generation = 1, .rendezvous = &board});
  std::vector<LaneRange> owners;
  for (int r = 0; r < s.ranks; ++r) owners.push_back({r, r + 1});
  const auto buckets = buckets_of(s);
  const std::array reducers = {make_canonical_reducer(group.get(), owners, s.ranks, buckets),
                               make_native_reducer(group.get(), owners, s.ranks, buckets)};
  std::vector<float> gradient(s.elements, 0.5F), out(s.elements);
  const std::vector<LanePart> parts{{{0, rank}, gradient.data()}};
  const std::vector<bool> present(static_cast<std::size_t>(s.ranks), true);
  std::array<std::vector<double>, 2> times;
  for (int round = -2; round < s.rounds; ++round) {  // two to warm up
    for (std::size_t kind = 0; kind < 2; ++kind) {
      barrier(*group);
      const auto begin = Clock::now();
      reducers[kind]->begin(parts, present, out);
      for (std::size_t bucket = 0; bucket < buckets.size(); ++bucket) reducers[kind]->start(bucket);
      reducers[kind]->finish();
      barrier(*group);  // the slowest rank counts
      if (round >= 0) times[kind].push_back(std::chrono::duration<double, std::milli>(Clock::now() - begin).count());
    }
  }
  if (rank == 0) report(s, median(times[0]), median(times[1]));
}

}  // namespace

int main(int argc, char** argv) {
  const auto settings = parse(argc, argv);
  const dtrain::TempFolder folder;
  std::vector<pid_t> children;
  for (int rank = 0; rank < settings.ranks; ++rank) {
    const auto pid = ::fork();
    if (pid == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      int code = 0;
      try {
        run_rank(settings, rank, folder.path());
      } catch (const std::exception& e) {
        std::fprintf(stderr, "rank %d: %s\n", rank, e.what());
        code = 1;
      }
      std::fflush(nullptr);
      ::_exit(code);
    }
    children.push_back(pid);
  }
  bool failed = false;
  for (const auto pid : children) {
    int status = 0;
    ::waitpid(pid, &status, 0);
    failed |= status != 0;
  }
  return failed ? 1 : 0;
}
