// SPDX-License-Identifier: Apache-2.0
//
// The bit domain: everything outside the recipe that decides the last bits of a result. Recorded in every checkpoint; a resume in
// another domain is still correct training, but no longer the same bits, and says so.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace dtrain {

// Of this process: dtrain, libtorch, instruction set, BLAS, threads a rank, device.
std::map<std::string, std::string> bit_domain(std::int64_t threads);

// What differs, as "name: saved -> now" joined by ", "; empty when nothing does.
std::string difference(const std::map<std::string, std::string>& saved, const std::map<std::string, std::string>& now);

}  // namespace dtrain
