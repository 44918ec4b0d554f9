// SPDX-License-Identifier: Apache-2.0
//
// Quantities with units, as recipes and the command line write them: "30 s", "1.5 min", "25 MiB".
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace dtrain {

// Reads "NUMBER UNIT" (blanks between are optional) and converts it to `unit`, which is one of the names below or any
// other word, which then converts to itself only. std::nullopt: not of that form, or a unit of something else. Times:
// ns, us, ms, s, min, h, d. Sizes: bytes, B, kB, MB, GB, TB (powers of 1000), KiB, MiB, GiB, TiB (powers of 1024).
std::optional<double> parse_quantity(std::string_view text, std::string_view unit);

// The units that `unit` can be written in, for messages: "ns, us, ms, s, min, h, d".
std::string convertible_units(std::string_view unit);

}  // namespace dtrain
