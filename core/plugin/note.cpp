// SPDX-License-Identifier: Apache-2.0
#include "core/plugin/note.h"

#include <dtrain/error.h>
#include <dtrain/plugin.h>

#include <algorithm>
#include <set>
#include <utility>

#include "core/plugin/byte_cursor.h"

namespace dtrain {
namespace {

constexpr std::uint8_t kRequired = 1, kPath = 2, kExclusiveMin = 4;  // as in Schema

bool is_name(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
           c == '.';
  });
}

// Names are keys of recipes and parts of messages: only letters, digits, '_', '-' and '.'.
std::string name_field(ByteCursor& cursor, const char* what) {
  const auto text = cursor.string();
  if (!is_name(text)) cursor.fail(std::string(what) + " is empty or has other characters than letters, digits, _ - .");
  return std::string(text);
}

std::string text_field(ByteCursor& cursor, const char* what) {
  const auto text = cursor.string();
  const auto control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
  if (std::ranges::any_of(text, control)) cursor.fail(std::string(what) + " has control characters");
  return std::string(text);
}

double real_field(ByteCursor& cursor) {
  return cursor.f64();
}
std::int64_t integer_field(ByteCursor& cursor) {
  return static_cast<std::int64_t>(cursor.u64());
}
std::string string_field(ByteCursor& cursor) {
  return std::string(cursor.string());
}

template <class T>
std::vector<T> list_field(ByteCursor& cursor, std::size_t smallest, T (*element)(ByteCursor&)) {
  const auto count = cursor.count(smallest);
  std::vector<T> list;
  list.reserve(count);
  for (std::uint32_t i = 0; i < count; ++i) list.push_back(element(cursor));
  return list;
}

OptionValue value_field(ByteCursor& cursor, OptionType type) {
  switch (type) {
    case OptionType::boolean: {
      const auto value = cursor.u8();
      if (value > 1) cursor.fail("a boolean is " + std::to_string(value));
      return value == 1;
    }
    case OptionType::integer:
      return integer_field(cursor);
    case OptionType::real:
      return real_field(cursor);
    case OptionType::string:
      return string_field(cursor);
    case OptionType::integers:
      return list_field<std::int64_t>(cursor, 8, integer_field);
    case OptionType::reals:
      return list_field<double>(cursor, 8, real_field);
    case OptionType::strings:
      return list_field<std::string>(cursor, 4, string_field);
  }
  cursor.fail("unknown option type");
}

OptionSpec option_field(ByteCursor& cursor) {
  OptionSpec option;
  option.name = name_field(cursor, "the name of an option");
  const auto type = cursor.u8();
  if (type > static_cast<std::uint8_t>(OptionType::strings)) cursor.fail("option type " + std::to_string(type));
  option.type = static_cast<OptionType>(type);
  const auto rule = cursor.u8();
  if (rule > static_cast<std::uint8_t>(ResumeRule::operational)) cursor.fail("resume rule " + std::to_string(rule));
  option.rule = static_cast<ResumeRule>(rule);
  const auto flags = cursor.u8();
  if ((flags & ~(kRequired | kPath | kExclusiveMin)) != 0) cursor.fail("option flags " + std::to_string(flags));
  option.required = (flags & kRequired) != 0;
  option.path = (flags & kPath) != 0;
  option.exclusive_min = (flags & kExclusiveMin) != 0;
  option.min = cursor.f64();
  option.max = cursor.f64();
  if (!(option.min <= option.max)) cursor.fail("the range of option '" + option.name + "' is empty");
  option.unit = text_field(cursor, "a unit");
  const auto choices = cursor.count(4);
  for (std::uint32_t i = 0; i < choices; ++i) option.choices.push_back(text_field(cursor, "a choice"));
  option.default_value = value_field(cursor, option.type);
  option.doc = text_field(cursor, "a description");
  return option;
}

PluginInfo plugin_field(ByteCursor& cursor) {
  PluginInfo plugin;
  plugin.name = name_field(cursor, "the plugin's name");
  plugin.version = text_field(cursor, "the plugin's version");
  const auto components = cursor.count(16);
  std::set<std::pair<std::string, std::string>> seen;
  for (std::uint32_t i = 0; i < components; ++i) {
    ComponentInfo component;
    component.kind = name_field(cursor, "a kind");
    component.name = name_field(cursor, "the name of a component");
    component.tag = text_field(cursor, "an ABI tag");
    const auto start = cursor.offset() + 4;
    try {
      component.options = decode_schema(cursor.string());
    } catch (const DamagedBytes& e) {
      throw DamagedBytes("options of " + component.kind + " '" + component.name + "' (from byte " +
                         std::to_string(start) + "), " + e.what());
    }
    if (!seen.emplace(component.kind, component.name).second) {
      cursor.fail(component.kind + " '" + component.name + "' is declared twice");
    }
    plugin.components.push_back(std::move(component));
  }
  if (cursor.left() != 0) cursor.fail(std::to_string(cursor.left()) + " bytes too many");
  return plugin;
}

}  // namespace

std::vector<OptionSpec> decode_schema(std::string_view encoded) {
  ByteCursor cursor(std::as_bytes(std::span(encoded)));
  std::vector<OptionSpec> options;
  std::set<std::string> seen;
  const auto count = cursor.count(4 + 3 + 16 + 4 + 4 + 1 + 4);
  for (std::uint32_t i = 0; i < count; ++i) {
    auto option = option_field(cursor);
    if (!seen.insert(option.name).second) cursor.fail("option '" + option.name + "' is declared twice");
    options.push_back(std::move(option));
  }
  if (cursor.left() != 0) cursor.fail(std::to_string(cursor.left()) + " bytes too many");
  return options;
}

PluginInfo decode_note(std::span<const std::byte> description, const std::filesystem::path& file) {
  const auto where = "plugin '" + file.string() + "'";
  ByteCursor cursor(description);
  try {
    const auto format = cursor.u32();
    if (format > plugin::kNoteFormat) {
      throw UserError(where + " has a note of format " + std::to_string(format) + ", this dtrain reads formats up to " +
                          std::to_string(plugin::kNoteFormat),
                      "use a newer dtrain, or rebuild the plugin against this one");
    }
    if (format == 0) cursor.fail("format 0 does not exist");
    auto plugin = plugin_field(cursor);
    plugin.path = file;
    return plugin;
  } catch (const DamagedBytes& e) {
    throw UserError(where + " has a damaged note: " + e.what(), "rebuild the plugin");
  }
}

}  // namespace dtrain
