// SPDX-License-Identifier: Apache-2.0
#include "core/nn/kernels/table.h"

namespace dtrain::kernels {

constexpr Kernels kBaseline = table("baseline");

}  // namespace dtrain::kernels
