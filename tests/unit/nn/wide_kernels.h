// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/nn/kernels/kernels.h"

namespace dtrain::test {

// The kernels for vectors of 16 floats, as AVX-512 has them, compiled for any machine.
extern const kernels::Kernels kWide;

}  // namespace dtrain::test
