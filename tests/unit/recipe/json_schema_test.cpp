// SPDX-License-Identifier: Apache-2.0
#include "core/recipe/json_schema.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/recipe/host_tables.h"
#include "tests/support/fake_components.h"

namespace dtrain::testing {
namespace {

using nlohmann::json;

TEST(JsonSchema, HasEveryTableOptionAndComponent) {
  const FakeComponents components;
  const auto schema = json::parse(recipe_json_schema(components));
  EXPECT_EQ(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
  EXPECT_EQ(schema["additionalProperties"], false);
  for (const auto& table : host_tables()) {
    const auto& tables = schema["properties"][table.name];
    const auto& first = tables.contains("anyOf") ? tables["anyOf"][0] : tables;
    for (const auto& option : table.options)
      EXPECT_TRUE(first["properties"].contains(option.spec.name)) << table.name << " " << option.spec.name;
    if (!table.component_kind.empty() && table.component_kind != "strategy") {
      EXPECT_EQ(tables["anyOf"].size(), components.of_kind(table.component_kind).size());
    }
  }
  const auto& gpt = schema["properties"]["model"]["anyOf"][0];
  EXPECT_EQ(gpt["properties"]["kind"]["const"], "gpt");
  EXPECT_EQ(gpt["additionalProperties"], false);
  const auto& layers = gpt["properties"]["num_layers"];
  EXPECT_EQ(layers["type"], "integer");
  EXPECT_EQ(layers["minimum"], 1);
  EXPECT_EQ(layers["maximum"], 512);
  EXPECT_EQ(layers["default"], 4);
  EXPECT_EQ(layers["description"], "residual blocks");
  const auto& lr = schema["properties"]["optimizer"]["anyOf"][0]["properties"]["lr"];
  EXPECT_EQ(lr["exclusiveMinimum"], 0.0);
}

}  // namespace
}  // namespace dtrain::testing
