// SPDX-License-Identifier: Apache-2.0
#include "core/nn/kernels/table.h"

namespace dtrain::kernels {

constexpr Kernels kAvx512 = table("avx512");

}  // namespace dtrain::kernels
