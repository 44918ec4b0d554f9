// SPDX-License-Identifier: Apache-2.0
#include "core/recipe/recipe_check.h"

#include <algorithm>

#include "core/base/nearest_name.h"
#include "core/recipe/toml_reader.h"
#include "core/recipe/toml_text.h"
#include "core/recipe/unknown_key.h"
#include "core/recipe/value_check.h"

namespace dtrain {
namespace {

constexpr std::string_view kAuto = "auto";

std::string join(const std::vector<std::string>& names) {
  std::string out;
  for (const auto& name : names) out += (out.empty() ? "" : ", ") + name;
  return out;
}

std::vector<std::string> names_of(const std::vector<CatalogEntry>& entries) {
  std::vector<std::string> out;
  for (const auto& entry : entries) out.push_back(entry.component->name);
  return out;
}

std::string article(std::string_view noun) {
  return noun.find_first_of("aeiou") == 0 ? "an" : "a";
}

// What one table may hold.
struct Allowed {
  std::string component_kind;
  std::string kind_key = "kind";
  std::string default_kind;
  ResumeRule rule = ResumeRule::identity;
  const std::vector<HostOption>* options = nullptr;
  std::vector<std::string> list_names;  // checked by the caller
};

class Check {
 public:
  Check(const Recipe& recipe, const ComponentSource& components, MistakeList& mistakes)
      : file_{recipe.files.front(), 0, 0}, components_(components), mistakes_(mistakes) {}

  CheckedSection section(const TableSpec& spec, const Value* value) {
    CheckedSection out{.spec = &spec, .present = value != nullptr, .table = {}, .lists = {}};
    Table empty;
    const Table* table = &empty;
    if (value != nullptr) {
      table = value->as<Table>();
      if (table == nullptr) {
        not_a_table(spec, *value);
        table = &empty;
        out.present = false;
        out.table.path = spec.name;
        for (const auto& list : spec.lists) out.lists.push_back({&list, spec.name + "." + list.name, {}, {}});
        return out;
      }
    }
    Allowed allowed{spec.component_kind, spec.kind_key, spec.default_kind, spec.rule, &spec.options, {}};
    if (spec.optional && value == nullptr) allowed.component_kind.clear();
    for (const auto& list : spec.lists) allowed.list_names.push_back(list.name);
    out.table = check_table(*table, allowed, spec.name, spec.name, value == nullptr ? file_ : value->origin.place);
    for (const auto& list : spec.lists) out.lists.push_back(check_list(list, out.table, table->find(list.name)));
    return out;
  }

  void top_level(const Table& root) {
    std::vector<std::string> valid;
    for (const auto& table : host_tables()) valid.push_back(table.name);
    for (const auto& entry : root.entries()) {
      if (host_table(entry.key) == nullptr) unknown(entry, {"", entry.key, valid, "", ""});
    }
  }

 private:
  void not_a_table(const TableSpec& spec, const Value& value) {
    if (value.as<Unreadable>() != nullptr) return;
    std::string hint;
    const auto* text = value.as<std::string>();
    if (text != nullptr && !spec.component_kind.empty())
      hint = "write [" + spec.name + "] and below it " + spec.kind_key + " = " + toml_text(*text);
    if (value.as<RawText>() != nullptr) hint = "set the keys in it one by one: --set " + spec.name + ".KEY=VALUE";
    mistakes_.add(value.origin.place, spec.name, "expected a table, found " + describe(value), hint);
  }

  void unknown(const Entry& entry, const UnknownKey& what) {
    const auto advice = explain(what, components_);
    const auto dotted = what.table.empty() ? entry.key : what.table + "." + entry.key;
    mistakes_.add(entry.key_place, dotted, advice.message, advice.hint);
  }

  // `shown`: the path as the user wrote it, for messages ("data.train" when it is one table).
  CheckedTable check_table(const Table& table, const Allowed& allowed, const std::string& path,
                           const std::string& shown, const Place& place) {
    CheckedTable out;
    out.path = path;
    out.place = place;
    out.rule = allowed.rule;
    bool component_known = true;
    if (!allowed.component_kind.empty()) {
      out.component_kind = allowed.component_kind;
      component_known = choose(table, allowed, shown, out);
    }
    std::vector<std::string> valid = allowed.list_names;
    if (!allowed.component_kind.empty()) valid.insert(valid.begin(), allowed.kind_key);
    for (const auto& option : *allowed.options) {
      valid.push_back(option.spec.name);
      add_option(table, option.spec, true, option.has_default, shown, out);
    }
    if (out.entry) {
      for (const auto& spec : out.entry->component->options) {
        if (std::count(valid.begin(), valid.end(), spec.name) > 0) {
          mistakes_.add(out.place, shown + "." + spec.name,
                        "the plugin " + out.entry->plugin->path.string() + " declares an option that dtrain itself has",
                        "rename it in " + out.component);
          continue;
        }
        valid.push_back(spec.name);
        add_option(table, spec, false, true, shown, out);
      }
    }
    if (!component_known) return out;  // its keys cannot be told from mistakes
    for (const auto& entry : table.entries()) {
      if (std::count(valid.begin(), valid.end(), entry.key) == 0)
        unknown(entry, {shown, entry.key, valid, allowed.component_kind, out.component});
    }
    return out;
  }

  void add_option(const Table& table, const OptionSpec& spec, bool host, bool has_default, const std::string& shown,
                  CheckedTable& out) {
    const auto* value = table.find(spec.name);
    const auto key = shown + "." + spec.name;
    if (value != nullptr) {
      if (auto checked = check_value(*value, spec, key, mistakes_))
        out.options.push_back({spec, std::move(*checked), origin_text(value->origin), value->origin.place, host});
    } else if (spec.required) {
      missing(out.place, key, expected_text(spec));
    } else if (has_default) {
      out.options.push_back({spec, spec.default_value, "default", {}, host});
    }
  }

  void missing(const Place& place, const std::string& key, const std::string& expected) {
    mistakes_.add(place, key, "missing; expected " + expected);
  }

  // False when the table's component cannot be known.
  bool choose(const Table& table, const Allowed& allowed, const std::string& shown, CheckedTable& out) {
    const auto key = shown + "." + allowed.kind_key;
    const auto* value = table.find(allowed.kind_key);
    OptionSpec spec;
    spec.type = OptionType::string;
    if (value != nullptr) {
      auto name = check_value(*value, spec, key, mistakes_);
      if (!name) return false;
      out.component = std::get<std::string>(*name);
      out.origin = origin_text(value->origin);
      out.place = value->origin.place;
    } else if (allowed.default_kind.empty()) {
      missing(out.place, key,
              "the name of " + article(allowed.component_kind) + " " + allowed.component_kind + ": " +
                  join(names_of(components_.of_kind(allowed.component_kind))));
      return false;
    } else {
      out.component = allowed.default_kind;
      out.origin = "default";
    }
    if (allowed.component_kind == "strategy" && out.component == kAuto) return true;
    return find(allowed.component_kind, key, out);
  }

  bool find(const std::string& kind, const std::string& key, CheckedTable& out) {
    out.entry = components_.find(kind, out.component);
    if (out.entry) return true;
    auto names = names_of(components_.of_kind(kind));
    if (kind == "strategy") names.emplace_back(kAuto);
    const auto near = nearest_name(out.component, names);
    auto message = "there is no " + kind + " " + toml_text(out.component);
    message += names.empty() ? "; no plugin offers any" : "; available: " + join(names);
    if (!near.empty()) message += "; did you mean " + toml_text(near) + "?";
    mistakes_.add(out.place, key, message, "searched: " + join(components_.searched()));
    return false;
  }

  CheckedList check_list(const ListSpec& spec, const CheckedTable& table, const Value* value) {
    CheckedList out{&spec, table.path + "." + spec.name, {}, {}};
    if (value == nullptr) {
      if (spec.required) {
        missing(
            {}, out.path,
            "a table with " + std::string(spec.component_kind.empty() ? "keys" : "kind = ...") + ", or a list of them");
      }
      if (!spec.default_name.empty()) out.elements.push_back(default_element(spec, out.path));
      return out;
    }
    Value parsed = *value;
    if (const auto* raw = value->as<RawText>()) {
      if (auto read = read_toml_value(raw->text, value->origin)) {
        parsed = *read;
      } else if (spec.names) {
        parsed.data = raw->text;
      }
    }
    out.place = parsed.origin.place;
    const Origin list_origin = parsed.origin;
    if (const auto* array = parsed.as<Array>()) {
      if (array->empty() && spec.required)
        mistakes_.add(out.place, out.path, "expected at least one element, found an empty list");
      for (const auto& element : *array)
        add_element(element, out, out.path + "." + std::to_string(out.elements.size()));
    } else {
      add_element(parsed, out, out.path);
    }
    check_twins(out);
    return out;
  }

  Allowed element_of(const ListSpec& spec) const {
    return {spec.component_kind, "kind", spec.default_name, spec.rule, &spec.options, {}};
  }

  CheckedTable default_element(const ListSpec& spec, const std::string& path) {
    return check_table(Table(), element_of(spec), path + ".0", path, {});
  }

  void add_element(const Value& value, CheckedList& out, const std::string& shown) {
    if (value.as<Unreadable>() != nullptr) return;
    auto allowed = element_of(*out.spec);
    allowed.default_kind.clear();
    const auto path = out.path + "." + std::to_string(out.elements.size());
    if (const auto* table = value.as<Table>()) {
      out.elements.push_back(check_table(*table, allowed, path, shown, value.origin.place));
    } else if (value.as<std::string>() != nullptr && out.spec->names) {
      Table named;
      named.set("kind", value.origin.place, value);
      out.elements.push_back(check_table(named, allowed, path, shown, value.origin.place));
    } else {
      const std::string what = out.spec->names ? "a name or a table" : "a table";
      mistakes_.add(value.origin.place, shown, "expected " + what + ", or a list of them, found " + describe(value),
                    out.spec->component_kind.empty() ? "" : "for example { kind = \"...\" }");
    }
  }

  void check_twins(const CheckedList& list) {
    if (!list.spec->names) return;
    for (std::size_t i = 0; i < list.elements.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        if (list.elements[i].component == list.elements[j].component && !list.elements[i].component.empty())
          mistakes_.add(list.elements[i].place, list.path, toml_text(list.elements[i].component) + " is listed twice");
      }
    }
  }

  Place file_;  // of what is missing altogether
  const ComponentSource& components_;
  MistakeList& mistakes_;
};

}  // namespace

const CheckedOption* CheckedTable::find(std::string_view name) const {
  const auto it =
      std::find_if(options.begin(), options.end(), [&](const CheckedOption& o) { return o.spec.name == name; });
  return it == options.end() ? nullptr : &*it;
}

const CheckedSection& CheckedRecipe::section(std::string_view name) const {
  const auto it =
      std::find_if(sections.begin(), sections.end(), [&](const CheckedSection& s) { return s.spec->name == name; });
  DTRAIN_CHECK(it != sections.end(), std::string(name));
  return *it;
}

const CheckedList& CheckedRecipe::list(std::string_view table, std::string_view name) const {
  const auto& lists = section(table).lists;
  const auto it = std::find_if(lists.begin(), lists.end(), [&](const CheckedList& l) { return l.spec->name == name; });
  DTRAIN_CHECK(it != lists.end(), std::string(name));
  return *it;
}

CheckedRecipe check_recipe(const Recipe& recipe, const ComponentSource& components, MistakeList& mistakes) {
  Check check(recipe, components, mistakes);
  CheckedRecipe out;
  check.top_level(recipe.root);
  for (const auto& spec : host_tables()) out.sections.push_back(check.section(spec, recipe.root.find(spec.name)));
  return out;
}

}  // namespace dtrain
