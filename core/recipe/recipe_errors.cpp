// SPDX-License-Identifier: Apache-2.0
#include "core/recipe/recipe_errors.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace dtrain {

std::string RecipeMistake::text() const {
  std::string out;
  if (place.known()) out += place.text() + ": ";
  if (!key.empty()) out += key + ": ";
  return out + message;
}

RecipeErrors::RecipeErrors(std::vector<RecipeMistake> mistakes) : mistakes_(std::move(mistakes)) {
  for (const auto& mistake : mistakes_) {
    if (!text_.empty()) text_ += '\n';
    text_ += mistake.text();
    if (!mistake.hint.empty()) text_ += "\n  hint: " + mistake.hint;
  }
}

bool MistakeList::mentions(std::string_view key) const {
  return std::any_of(mistakes_.begin(), mistakes_.end(), [&](const RecipeMistake& m) {
    return m.key.starts_with(key) && (m.key.size() == key.size() || m.key[key.size()] == '.');
  });
}

void MistakeList::throw_if_any() const {
  if (mistakes_.empty()) return;
  std::map<std::string, std::size_t> order;
  for (const auto& mistake : mistakes_) {  // files first, then the command line
    const auto& file = mistake.place.file;
    order.try_emplace(file, order.size() + (file.starts_with("--set") ? mistakes_.size() : 0));
  }
  auto sorted = mistakes_;
  std::stable_sort(sorted.begin(), sorted.end(), [&](const RecipeMistake& a, const RecipeMistake& b) {
    return std::tuple(order[a.place.file], a.place.line, a.place.column) <
           std::tuple(order[b.place.file], b.place.line, b.place.column);
  });
  throw RecipeErrors(std::move(sorted));
}

}  // namespace dtrain
