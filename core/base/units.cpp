// SPDX-License-Identifier: Apache-2.0
#include "core/base/units.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace dtrain {
namespace {

enum class Dimension { time, size };

struct Unit {
  std::string_view name;
  Dimension dimension;
  double factor;  // in the dimension's smallest unit; exact
};

constexpr std::array kUnits = {
    Unit{"ns", Dimension::time, 1},
    Unit{"us", Dimension::time, 1e3},
    Unit{"ms", Dimension::time, 1e6},
    Unit{"s", Dimension::time, 1e9},
    Unit{"min", Dimension::time, 60e9},
    Unit{"h", Dimension::time, 3600e9},
    Unit{"d", Dimension::time, 86400e9},
    Unit{"bytes", Dimension::size, 1},
    Unit{"B", Dimension::size, 1},
    Unit{"kB", Dimension::size, 1e3},
    Unit{"MB", Dimension::size, 1e6},
    Unit{"GB", Dimension::size, 1e9},
    Unit{"TB", Dimension::size, 1e12},
    Unit{"KiB", Dimension::size, 1024},
    Unit{"MiB", Dimension::size, 1048576},
    Unit{"GiB", Dimension::size, 1073741824},
    Unit{"TiB", Dimension::size, 1099511627776},
};

const Unit* find(std::string_view name) {
  const auto it = std::find_if(kUnits.begin(), kUnits.end(), [&](const Unit& u) { return u.name == name; });
  return it == kUnits.end() ? nullptr : &*it;
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

}  // namespace

std::optional<double> parse_quantity(std::string_view text, std::string_view unit) {
  text = trim(text);
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return std::nullopt;
  const auto name = trim(text.substr(static_cast<std::size_t>(end - text.data())));
  if (name == unit) return number;
  const auto* from = find(name);
  const auto* to = find(unit);
  if (from == nullptr || to == nullptr || from->dimension != to->dimension) return std::nullopt;
  // Dividing by the whole ratio rounds once: "30 ms" in s is the double nearest to 0.03.
  return from->factor >= to->factor ? number * (from->factor / to->factor) : number / (to->factor / from->factor);
}

std::string convertible_units(std::string_view unit) {
  const auto* to = find(unit);
  if (to == nullptr) return std::string(unit);
  std::string out;
  for (const auto& u : kUnits) {
    if (u.dimension == to->dimension) out += (out.empty() ? "" : ", ") + std::string(u.name);
  }
  return out;
}

}  // namespace dtrain
