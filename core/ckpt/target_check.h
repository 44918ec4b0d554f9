// SPDX-License-Identifier: Apache-2.0
//
// Compares what a run wants to load with what a checkpoint holds.
#pragma once

#include <span>
#include <string>

#include "core/ckpt/manifest.h"
#include "core/ckpt/tensor_slice.h"

namespace dtrain::ckpt {

// See Checkpoint::load. Ranges outside a tensor and wrong buffer sizes are InvariantErrors.
void check_targets(const Manifest& manifest, std::span<const TensorTarget> targets,
                   std::span<const std::string> prefixes, const std::string& label);

}  // namespace dtrain::ckpt
