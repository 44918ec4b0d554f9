// SPDX-License-Identifier: Apache-2.0
//
// "Did you mean": the distance between names, and the nearest of a list.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dtrain {

// Damerau-Levenshtein distance (optimal string alignment): insertions, deletions, substitutions and swaps of
// neighbours. Letters of different case are equal, and so are '-' and '_'.
std::size_t name_distance(std::string_view a, std::string_view b);

// How many edits a name of this length may be away to count as a slip of the pen.
std::size_t allowed_distance(std::string_view name);

// The nearest candidate within allowed_distance(name); the first of equals; empty when none is near.
std::string nearest_name(std::string_view name, std::span<const std::string> candidates);

}  // namespace dtrain
