// SPDX-License-Identifier: Apache-2.0
#include "core/base/utf8.h"

#include <cstddef>
#include <cstdint>

namespace dtrain {

bool is_utf8(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    const std::size_t more = lead < 0x80   ? 0
                             : lead < 0xc2 ? 4
                             : lead < 0xe0 ? 1
                             : lead < 0xf0 ? 2
                             : lead < 0xf5 ? 3
                                           : 4;
    if (more == 4 || text.size() - i <= more) return false;
    std::uint32_t code = more == 0 ? lead : lead & (0x3fu >> more);
    for (std::size_t k = 1; k <= more; ++k) {
      const auto next = static_cast<unsigned char>(text[i + k]);
      if ((next & 0xc0) != 0x80) return false;
      code = code << 6 | (next & 0x3f);
    }
    const bool overlong = (more == 2 && code < 0x800) || (more == 3 && code < 0x10000);
    if (overlong || (code >= 0xd800 && code < 0xe000) || code > 0x10ffff) return false;
    i += more + 1;
  }
  return true;
}

}  // namespace dtrain
