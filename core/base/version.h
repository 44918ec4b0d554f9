// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace dtrain {

inline constexpr const char* kVersion = DTRAIN_VERSION;  // of the project in CMakeLists.txt: "0.1.0"

}  // namespace dtrain
