// SPDX-License-Identifier: Apache-2.0
#include "core/plugin/note.h"

#include <dtrain/schedule.h>
#include <gtest/gtest.h>

#include <limits>

#include "core/plugin/byte_cursor.h"
#include "tests/unit/plugin/elf_builder.h"
#include "tests/unit/plugin/expect_error.h"

namespace dtrain {
namespace {

using test::expect_error;
using test::FakeComponent;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct AllTypes {
  bool nesterov = true;
  std::int64_t layers = 4;
  double dropout = 0.25;
  std::string mode = "fast";
  std::vector<std::int64_t> sizes = {64, -1};
  std::vector<double> weights = {0.5};
  std::vector<std::string> files = {"a", "b c"};

  constexpr void describe(Schema& s) {
    s.trajectory("nesterov", nesterov, "look ahead");
    s.identity("layers", layers, range(1, 512), "residual blocks");
    s.trajectory("dropout", dropout, range(0.0, 0.99), "drop probability");
    s.operational("mode", mode, choices({"fast", "exact"}), "which way");
    s.identity("sizes", sizes, at_least(-1), "features");
    s.identity("weights", weights, above(0).unit("s"), "share");
    s.operational("files", files, required().path(), "where from");
  }
};

std::string schema_of_all_types() {
  AllTypes options;
  Schema schema;
  options.describe(schema);
  return schema.encoded();
}

std::span<const std::byte> bytes(std::string_view text) {
  return std::as_bytes(std::span(text));
}

TEST(DecodeSchema, EveryTypeAndConstraint) {
  const auto options = decode_schema(schema_of_all_types());
  ASSERT_EQ(options.size(), 7u);

  EXPECT_EQ(options[0].name, "nesterov");
  EXPECT_EQ(options[0].type, OptionType::boolean);
  EXPECT_EQ(options[0].rule, ResumeRule::trajectory);
  EXPECT_EQ(options[0].default_value, OptionValue(true));
  EXPECT_EQ(options[0].doc, "look ahead");
  EXPECT_EQ(options[0].min, -kInfinity);
  EXPECT_EQ(options[0].max, kInfinity);
  EXPECT_FALSE(options[0].required);

  EXPECT_EQ(options[1].type, OptionType::integer);
  EXPECT_EQ(options[1].rule, ResumeRule::identity);
  EXPECT_EQ(options[1].min, 1);
  EXPECT_EQ(options[1].max, 512);
  EXPECT_EQ(options[1].default_value, OptionValue(std::int64_t{4}));

  EXPECT_EQ(options[2].type, OptionType::real);
  EXPECT_EQ(options[2].max, 0.99);
  EXPECT_EQ(options[2].default_value, OptionValue(0.25));

  EXPECT_EQ(options[3].type, OptionType::string);
  EXPECT_EQ(options[3].rule, ResumeRule::operational);
  EXPECT_EQ(options[3].choices, (std::vector<std::string>{"fast", "exact"}));
  EXPECT_EQ(options[3].default_value, OptionValue(std::string("fast")));

  EXPECT_EQ(options[4].type, OptionType::integers);
  EXPECT_EQ(options[4].default_value, OptionValue(std::vector<std::int64_t>{64, -1}));
  EXPECT_FALSE(options[4].exclusive_min);

  EXPECT_EQ(options[5].type, OptionType::reals);
  EXPECT_TRUE(options[5].exclusive_min);
  EXPECT_EQ(options[5].min, 0);
  EXPECT_EQ(options[5].unit, "s");

  EXPECT_EQ(options[6].type, OptionType::strings);
  EXPECT_TRUE(options[6].required);
  EXPECT_TRUE(options[6].path);
  EXPECT_EQ(options[6].default_value, OptionValue(std::vector<std::string>{"a", "b c"}));
}

TEST(DecodeSchema, EveryTruncationIsDamage) {
  const auto whole = schema_of_all_types();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_THROW(decode_schema(std::string_view(whole).substr(0, size)), DamagedBytes) << size;
  }
  EXPECT_THROW(decode_schema(whole + "x"), DamagedBytes);
}

TEST(DecodeSchema, ACountThatCannotFitIsRefusedBeforeAnythingIsAllocated) {
  std::string schema;
  wire::put_u32(schema, 0xffffffff);
  schema.append(64, '\0');
  EXPECT_THROW(decode_schema(schema), DamagedBytes);
}

TEST(DecodeSchema, TheSameOptionTwice) {
  std::int64_t value = 0;
  Schema schema;
  schema.identity("size", value, "one");
  schema.identity("size", value, "two");
  EXPECT_THROW(decode_schema(schema.encoded()), DamagedBytes);
}

TEST(DecodeNote, ComponentsInOrder) {
  const std::vector<FakeComponent> components = {{"model", "tiny", "interface=1", schema_of_all_types()},
                                                 {"optimizer", "plain"}};
  const auto plugin = decode_note(bytes(test::note_of("tiny", components)), "/p/tiny.so");
  EXPECT_EQ(plugin.path, "/p/tiny.so");
  EXPECT_EQ(plugin.name, "tiny");
  EXPECT_EQ(plugin.version, "1.0.0");
  ASSERT_EQ(plugin.components.size(), 2u);
  EXPECT_EQ(plugin.components[0].kind, "model");
  EXPECT_EQ(plugin.components[0].name, "tiny");
  EXPECT_EQ(plugin.components[0].tag, "interface=1");
  EXPECT_EQ(plugin.components[0].options.size(), 7u);
  EXPECT_EQ(plugin.components[1].kind, "optimizer");
  EXPECT_TRUE(plugin.components[1].options.empty());
}

TEST(DecodeNote, NewerFormat) {
  std::string note;
  wire::put_u32(note, 2);
  note += "whatever format 2 is";
  expect_error([&] { decode_note(bytes(note), "/p/a.so"); },
               "plugin '/p/a.so' has a note of format 2, this dtrain reads formats up to 1",
               "use a newer dtrain, or rebuild the plugin against this one");
}

TEST(DecodeNote, Truncated) {
  const std::vector<FakeComponent> components = {{}};
  const auto note = test::note_of("tiny", components);
  expect_error([&] { decode_note(bytes(std::string_view(note).substr(0, 10)), "/p/a.so"); },
               "plugin '/p/a.so' has a damaged note: at byte 8: needs 4 bytes, 2 are left", "rebuild the plugin");
}

TEST(DecodeNote, DamageInASchemaNamesTheComponent) {
  const std::vector<FakeComponent> components = {{.schema = std::string("\1\0\0\0", 4)}};
  expect_error([&] { decode_note(bytes(test::note_of("tiny", components)), "/p/a.so"); },
               "plugin '/p/a.so' has a damaged note: options of schedule 'flat' (from byte 82), at byte 4: a list of 1 "
               "elements does not fit",
               "rebuild the plugin");
}

TEST(DecodeNote, TheSameComponentTwice) {
  const std::vector<FakeComponent> components(2);
  EXPECT_THROW(decode_note(bytes(test::note_of("tiny", components)), "/p/a.so"), UserError);
}

TEST(DecodeNote, NamesThatWouldGarbleARecipeOrATerminal) {
  for (const char* name : {"", "a b", "a\x1b[31m", "a\"", "é"}) {
    const std::vector<FakeComponent> components = {{.name = name}};
    EXPECT_THROW(decode_note(bytes(test::note_of("tiny", components)), "/p/a.so"), UserError) << name;
  }
}

}  // namespace
}  // namespace dtrain
