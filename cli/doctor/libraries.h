// SPDX-License-Identifier: Apache-2.0
//
// What libtorch brings with it. The command line does not link libtorch, so a child process opens it, asks and ends.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "cli/doctor/finding.h"

namespace dtrain::doctor {

struct LibraryFacts {
  std::string libtorch = {};     // file that was opened; empty when that failed
  std::string error = {};        // why it failed
  std::string blas = {};         // file that has sgemm_; empty when libtorch keeps its BLAS inside
  std::string blas_config = {};  // OpenBLAS's own description; empty for others
  std::string blas_core = {};    // the processor that OpenBLAS chose its kernels for
  double gflops = 0;             // of a 512 x 512 x 512 product in fp32 on one thread; 0 when not measured
  std::string gloo = {};         // file; empty when there is none
};

// Tries `candidates` in order (a path or a name for the dynamic linker). Starts a child; call from a single-threaded
// process.
LibraryFacts probe_libraries(const std::vector<std::string>& candidates, std::chrono::milliseconds timeout);

// `built_against` is the version of libtorch that dtrain was compiled with, such as "1.13.1"; empty when it was built
// without.
Finding judge_libtorch(const LibraryFacts& facts, const std::string& built_against);
Finding judge_blas(const LibraryFacts& facts);
Finding judge_gloo(const LibraryFacts& facts);
// The environment variable that overrides OpenBLAS's choice; null when unset.
Finding judge_openblas_coretype(const char* value, const LibraryFacts& facts);

}  // namespace dtrain::doctor
