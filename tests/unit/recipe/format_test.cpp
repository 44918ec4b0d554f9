// SPDX-License-Identifier: Apache-2.0
#include "core/recipe/format.h"

#include <gtest/gtest.h>

#include "core/recipe/recipe_errors.h"

namespace dtrain {
namespace {

TEST(RecipeFormat, LaysOutWithoutTouchingValuesAndComments) {
  const std::string messy =
      "\n\n# head\nschema=1\n  [model]  # the network\nkind   =\"gpt\"# small\n\n\n\nnum_layers= 2 \n# of the data\n[ "
      "data ]\n"
      "train = [\n{ kind = \"text\", path = \"a#b\" },   # first\n      { kind = \"text\" }\n  ]\n[x]\ntext = \"\"\"  "
      "\n  kept  \n   \"\"\"\n\n\n";
  const std::string neat =
      "# head\nschema = 1\n\n[model]  # the network\nkind = \"gpt\"  # small\n\nnum_layers = 2\n\n# of the data\n[ "
      "data ]\n"
      "train = [\n  { kind = \"text\", path = \"a#b\" },  # first\n  { kind = \"text\" }\n]\n\n[x]\ntext = \"\"\"  \n  "
      "kept  \n   \"\"\"\n";
  EXPECT_EQ(format_recipe(messy, "m.toml"), neat);
  EXPECT_EQ(format_recipe(neat, "m.toml"), neat);
}

TEST(RecipeFormat, QuotedKeysAndEqualsInValues) {
  EXPECT_EQ(format_recipe("\"a = b\"='c = d' # e = f\n", "m.toml"), "\"a = b\" = 'c = d'  # e = f\n");
}

TEST(RecipeFormat, RefusesWhatIsNotToml) {
  EXPECT_THROW(format_recipe("a = \n", "m.toml"), RecipeErrors);
  EXPECT_THROW(format_recipe("a = 1\na = 2\n", "m.toml"), RecipeErrors);
}

}  // namespace
}  // namespace dtrain
