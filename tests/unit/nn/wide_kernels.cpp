// SPDX-License-Identifier: Apache-2.0
#define DTRAIN_VECTOR_WIDTH 16
#include "tests/unit/nn/wide_kernels.h"

#include "core/nn/kernels/table.h"

namespace dtrain::test {

constexpr kernels::Kernels kWide = kernels::table("wide");

}  // namespace dtrain::test
