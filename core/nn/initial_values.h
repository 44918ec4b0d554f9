// SPDX-License-Identifier: Apache-2.0
//
// First values of parameters and buffers.
#pragma once

#include <dtrain/model.h>

#include <cstdint>
#include <span>

namespace dtrain {

// Writes the elements [first, first + out.size()) of the flattened tensor `spec`. Element i is a pure function of
// (seed, spec.name, spec.init, i): whoever owns which part, the values are the same. Any thread.
void fill_initial(const ParamSpec& spec, std::uint64_t seed, std::uint64_t first, std::span<float> out);

inline void fill_initial(const ParamSpec& spec, std::uint64_t seed, std::span<float> out) {
  fill_initial(spec, seed, 0, out);
}

}  // namespace dtrain
