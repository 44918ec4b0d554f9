// SPDX-License-Identifier: Apache-2.0
//
// A recipe with everything that it extends and that is laid over it: one tree of values, not yet checked against what
// the tables and components allow.
#pragma once

#include <istream>
#include <string>
#include <vector>

#include "core/recipe/recipe_errors.h"
#include "core/recipe/value.h"

namespace dtrain {

struct RecipeInput {
  std::string path;               // "-": from `in`
  std::vector<std::string> sets;  // KEY=VALUE, in order
  std::string site;               // a file below the recipe; empty: none
  std::istream* in = nullptr;
};

struct Recipe {
  Table root;                      // without `schema` and `extends`
  std::string name;                // of the file, without folder and ".toml"; "run" when read from a stream
  std::vector<std::string> files;  // all files read, the recipe first
  std::vector<std::string> notes;  // what the user should know though it is no mistake
};

// Layers, lowest first: site file, what the recipe extends (in order), the recipe, --set. Mistakes of syntax, of
// `schema` and of `extends` are added; when a file cannot be read at all, throws RecipeErrors with everything found so
// far.
Recipe load_recipe(const RecipeInput& input, MistakeList& mistakes);

}  // namespace dtrain
