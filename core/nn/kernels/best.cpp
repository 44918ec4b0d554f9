// SPDX-License-Identifier: Apache-2.0
#include "core/nn/kernels/kernels.h"

namespace dtrain::kernels {

const Kernels& best() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512dq")) {
    return kAvx512;
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return kAvx2;
#endif
  return kBaseline;
}

}  // namespace dtrain::kernels
