// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace dtrain::doctor {

enum class Verdict : std::uint8_t { ok, warn, fail };

// What one check found. `fix` is what to do, empty when all is well.
struct Finding {
  std::string name;
  Verdict verdict = Verdict::ok;
  std::string value;
  std::string fix;

  bool operator==(const Finding&) const = default;
};

}  // namespace dtrain::doctor
