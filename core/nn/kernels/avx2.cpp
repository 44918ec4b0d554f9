// SPDX-License-Identifier: Apache-2.0
#include "core/nn/kernels/table.h"

namespace dtrain::kernels {

constexpr Kernels kAvx2 = table("avx2");

}  // namespace dtrain::kernels
