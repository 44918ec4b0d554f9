// SPDX-License-Identifier: Apache-2.0
#include "core/base/nearest_name.h"

#include <algorithm>

namespace dtrain {
namespace {

char fold(char c) {
  if (c >= 'A' && c <= 'Z') return static_cast<char>(c - 'A' + 'a');
  return c == '-' ? '_' : c;
}

}  // namespace

std::size_t name_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const bool same = fold(a[i - 1]) == fold(b[j - 1]);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (same ? 0 : 1)});
      if (i > 1 && j > 1 && fold(a[i - 1]) == fold(b[j - 2]) && fold(a[i - 2]) == fold(b[j - 1]))
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
    std::swap(before, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

std::size_t allowed_distance(std::string_view name) {
  return name.size() <= 3 ? 1 : (name.size() <= 6 ? 2 : 3);
}

std::string nearest_name(std::string_view name, std::span<const std::string> candidates) {
  std::string best;
  auto limit = allowed_distance(name) + 1;
  for (const auto& candidate : candidates) {
    const auto distance = name_distance(name, candidate);
    if (distance < limit && distance < std::max(name.size(), candidate.size())) {
      limit = distance;
      best = candidate;
    }
  }
  return best;
}

}  // namespace dtrain
