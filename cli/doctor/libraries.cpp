// SPDX-License-Identifier: Apache-2.0
#include "cli/doctor/libraries.h"

#include <dlfcn.h>
#include <dtrain/error.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "core/base/process.h"
#include "core/base/unique_fd.h"

namespace dtrain::doctor {
namespace {

using Clock = std::chrono::steady_clock;
using Gemm = void (*)(const char*, const char*, const int*, const int*, const int*, const float*, const float*,
                      const int*, const float*, const int*, const float*, float*, const int*);
using Text = char* (*)();

std::string file_of(const void* address) {
  Dl_info info{};
  if (address == nullptr || ::dladdr(address, &info) == 0 || info.dli_fname == nullptr) return {};
  std::error_code error;
  const auto path = std::filesystem::canonical(info.dli_fname, error);
  return error ? info.dli_fname : path.string();
}

double measure(Gemm gemm) {
  constexpr int n = 512;
  const std::vector<float> a(n * n, 0.5F), b(n * n, 0.25F);
  std::vector<float> c(n * n);
  const float one = 1, zero = 0;
  double best = 0;
  for (int round = 0; round < 3; ++round) {
    const auto begin = Clock::now();
    gemm("N", "N", &n, &n, &n, &one, a.data(), &n, b.data(), &n, &zero, c.data(), &n);
    const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    best = std::max(best, 2.0 * n * n * n / seconds * 1e-9);
  }
  return best;
}

// In the child: "key value" lines. A crash or hang of a library's start code stays in here.
std::string examine(const std::vector<std::string>& candidates) {
  for (const char* name : {"OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"}) ::setenv(name, "1", 1);
  std::ostringstream out;
  if (void* gloo = ::dlopen("libgloo.so.0", RTLD_LAZY | RTLD_LOCAL); gloo != nullptr) {
    out << "gloo " << file_of(::dlsym(gloo, "_ZN4gloo7ContextC1Eiii")) << '\n';
  }
  void* torch = nullptr;
  std::string error;
  for (const auto& candidate : candidates) {
    torch = ::dlopen(candidate.c_str(), RTLD_LAZY | RTLD_LOCAL);
    if (torch != nullptr) break;
    if (error.empty()) error = ::dlerror();
  }
  if (torch == nullptr) return out.str() + "error " + error + '\n';
  out << "libtorch " << file_of(::dlsym(torch, "_ZN2at15get_num_threadsEv")) << '\n';
  if (void* gemm = ::dlsym(torch, "sgemm_"); gemm != nullptr) {
    const auto file = file_of(gemm);
    out << "blas " << file << '\n';
    // Asked of that file and what it needs: another of libtorch's libraries may bring an OpenBLAS that libtorch does
    // not use.
    if (void* blas = ::dlopen(file.c_str(), RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD); blas != nullptr && blas != torch) {
      const auto config = reinterpret_cast<Text>(::dlsym(blas, "openblas_get_config"));
      const auto core = reinterpret_cast<Text>(::dlsym(blas, "openblas_get_corename"));
      if (config != nullptr) out << "blas_config " << config() << '\n';
      if (core != nullptr) out << "blas_core " << core() << '\n';
    }
    out << "gflops " << measure(reinterpret_cast<Gemm>(gemm)) << '\n';
  }
  return out.str();
}

[[noreturn]] void run_child(int out, const std::vector<std::string>& candidates) {
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  ::dup2(null, 1);
  ::dup2(null, 2);
  std::string text;
  try {
    text = examine(candidates);
  } catch (const std::exception& e) {
    text = std::string("error ") + e.what() + '\n';
  }
  for (std::size_t sent = 0; sent < text.size();) {
    const auto n = ::write(out, text.data() + sent, text.size() - sent);
    if (n <= 0) break;
    sent += static_cast<std::size_t>(n);
  }
  ::_exit(0);  // the destructors of half-started libraries are none of ours
}

// Everything the child writes until it closes its end; false when the time is over first.
bool read_all(int fd, Clock::time_point deadline, std::string& text) {
  while (true) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    pollfd entry{fd, POLLIN, 0};
    if (left <= 0 || ::poll(&entry, 1, static_cast<int>(left)) == 0) return false;
    char buffer[4096];
    const auto n = ::read(fd, buffer, sizeof buffer);
    if (n == 0) return true;
    if (n > 0) text.append(buffer, static_cast<std::size_t>(n));
    if (n < 0 && errno != EINTR) return true;
  }
}

LibraryFacts parse(const std::string& text) {
  std::map<std::string, std::string> values;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    const auto blank = line.find(' ');
    if (blank != std::string::npos) values[line.substr(0, blank)] = line.substr(blank + 1);
  }
  return {.libtorch = values["libtorch"],
          .error = values["error"],
          .blas = values["blas"],
          .blas_config = values["blas_config"],
          .blas_core = values["blas_core"],
          .gflops = std::strtod(values["gflops"].c_str(), nullptr),
          .gloo = values["gloo"]};
}

std::string rate(double gflops) {
  char text[64];
  std::snprintf(text, sizeof text, "%.0f GFLOP/s a thread in fp32", gflops);
  return text;
}

}  // namespace

LibraryFacts probe_libraries(const std::vector<std::string>& candidates, std::chrono::milliseconds timeout) {
  int ends[2];
  DTRAIN_CHECK(::pipe2(ends, O_CLOEXEC) == 0);
  UniqueFd reader(ends[0]);
  UniqueFd writer(ends[1]);
  const pid_t child = ::fork();
  DTRAIN_CHECK(child >= 0, "fork failed");
  if (child == 0) run_child(writer.get(), candidates);
  writer.reset();
  std::string text;
  const bool finished = read_all(reader.get(), Clock::now() + timeout, text);
  if (!finished) ::kill(child, SIGKILL);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  auto facts = parse(text);
  if (!finished) {
    facts.error = "loading it took longer than " + std::to_string(timeout.count()) + " ms";
  } else if (status != 0) {
    facts.error = "the process that loaded it " + describe_status(status);
  } else if (facts.libtorch.empty() && facts.error.empty()) {
    facts.error = "the library has no at::get_num_threads";
  }
  if (!facts.error.empty()) facts.libtorch.clear();
  return facts;
}

Finding judge_libtorch(const LibraryFacts& facts, const std::string& built_against) {
  Finding finding{.name = "libtorch", .verdict = Verdict::ok, .value = facts.libtorch, .fix = {}};
  if (facts.libtorch.empty()) {
    return {.name = "libtorch",
            .verdict = Verdict::fail,
            .value = "cannot be loaded: " + facts.error,
            .fix = "sudo apt-get install libtorch1.13 (or libtorch-dev to build dtrain)"};
  }
  if (built_against.empty()) return finding;
  finding.value = built_against + ", " + facts.libtorch;
  // Debian puts the version into the file's name: libtorch_cpu.so.1.13.0; other builds do not.
  const auto name = std::filesystem::path(facts.libtorch).filename().string();
  const auto found = name.find(".so.");
  const auto series = built_against.substr(0, built_against.find('.', built_against.find('.') + 1));  // "1.13"
  if (found != std::string::npos && !(name.substr(found + 4) + ".").starts_with(series + ".")) {
    finding.verdict = Verdict::fail;
    finding.value = facts.libtorch + ", but dtrain was built against " + built_against;
    finding.fix = "build dtrain again, or install the libtorch that it was built against";
  }
  return finding;
}

Finding judge_blas(const LibraryFacts& facts) {
  Finding finding{.name = "blas", .verdict = Verdict::ok, .value = facts.blas, .fix = {}};
  if (facts.libtorch.empty()) {
    finding.verdict = Verdict::fail;
    finding.value = "unknown: libtorch cannot be loaded";
    finding.fix = "see libtorch";
    return finding;
  }
  if (facts.blas.empty()) {
    finding.value = "inside libtorch";
    return finding;
  }
  const bool optimised = !facts.blas_config.empty() || facts.blas.find("mkl") != std::string::npos ||
                         facts.blas.find("blis") != std::string::npos || facts.blas.find("atlas") != std::string::npos;
  if (optimised) {
    if (!facts.blas_config.empty()) finding.value += " (" + facts.blas_config + ")";
    finding.value += ", " + rate(facts.gflops);
    return finding;
  }
  finding.verdict = Verdict::warn;
  finding.value =
      facts.blas + " is a reference BLAS: " + rate(facts.gflops) + ", about 25 times slower than an optimised one";
  finding.fix = "sudo apt-get install libopenblas0-openmp";
  return finding;
}

Finding judge_gloo(const LibraryFacts& facts) {
  if (!facts.gloo.empty()) return {.name = "gloo", .verdict = Verdict::ok, .value = facts.gloo, .fix = {}};
  return {.name = "gloo",
          .verdict = Verdict::warn,
          .value = "libgloo.so.0 is not installed: comm.kind = \"gloo\" cannot be used",
          .fix = "sudo apt-get install libgloo0"};
}

Finding judge_openblas_coretype(const char* value, const LibraryFacts& facts) {
  Finding finding{.name = "openblas kernels", .verdict = Verdict::ok, .value = {}, .fix = {}};
  if (facts.blas_core.empty()) {
    finding.value = "OpenBLAS is not in use";
  } else if (value == nullptr) {
    finding.value = facts.blas_core + ", chosen by the processor";
  } else {
    finding.verdict = Verdict::warn;
    finding.value = facts.blas_core + ", forced by OPENBLAS_CORETYPE=" + value;
    finding.fix =
        "unset OPENBLAS_CORETYPE unless this processor needs it; it decides speed and the last bits of results";
  }
  return finding;
}

}  // namespace dtrain::doctor
