// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace dtrain {

// `text` with each mangled C++ name in it (Itanium C++ ABI, "_Z...") replaced by its readable form.
std::string demangled(std::string_view text);

}  // namespace dtrain
