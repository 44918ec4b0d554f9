// SPDX-License-Identifier: Apache-2.0
#include "core/recipe/merge.h"

#include <algorithm>
#include <optional>

#include "core/base/utf8.h"
#include "core/recipe/host_tables.h"
#include "core/recipe/toml_reader.h"

namespace dtrain {
namespace {

// What names the component of the table at a path, and the keys there that are not the component's.
struct KindRule {
  std::string key;
  std::string default_kind;
  std::vector<std::string> host_keys;
};

std::optional<KindRule> kind_rule(const std::vector<std::string>& path) {
  if (path.empty()) return std::nullopt;
  const auto* table = host_table(path[0]);
  if (table == nullptr) return std::nullopt;
  if (path.size() == 1) {
    if (table->component_kind.empty()) return std::nullopt;
    return KindRule{table->kind_key, table->default_kind, table->host_keys()};
  }
  const auto* list = table->list(path[1]);
  if (list == nullptr || list->component_kind.empty()) return std::nullopt;
  KindRule rule{"kind", "", {"kind"}};
  for (const auto& option : list->options) rule.host_keys.push_back(option.spec.name);
  return rule;
}

std::string text_of(const Value* value) {
  if (value == nullptr) return {};
  if (const auto* text = value->as<std::string>()) return *text;
  if (const auto* raw = value->as<RawText>()) return text_as_string(raw->text);
  return {};
}

std::string dotted(const std::vector<std::string>& path) {
  std::string out;
  for (const auto& part : path) out += (out.empty() ? "" : ".") + part;
  return out;
}

void drop_old_component(Table& table, const Value& new_kind, const std::vector<std::string>& path,
                        std::vector<std::string>& notes) {
  const auto rule = kind_rule(path);
  if (!rule) return;
  auto old_kind = text_of(table.find(rule->key));
  if (old_kind.empty()) old_kind = rule->default_kind;
  if (old_kind.empty() || old_kind == text_of(&new_kind)) return;
  std::erase_if(table.entries(), [&](const Entry& entry) {
    if (std::count(rule->host_keys.begin(), rule->host_keys.end(), entry.key) > 0) return false;
    notes.push_back(new_kind.origin.place.text() + ": " + dotted(path) + "." + rule->key + " = \"" +
                    text_of(&new_kind) + "\" leaves out " + dotted(path) + "." + entry.key + " of " + old_kind + " (" +
                    entry.key_place.text() + ")");
    return true;
  });
}

void replace(Table& table, Entry entry) {
  if (const auto* old = table.find(entry.key)) {
    auto& replaced = entry.value.origin.replaced;
    replaced.push_back(old->origin.place);
    replaced.insert(replaced.end(), old->origin.replaced.begin(), old->origin.replaced.end());
  }
  table.set(std::move(entry.key), std::move(entry.key_place), std::move(entry.value));
}

void merge_at(Table& base, Table over, std::vector<std::string>& path, std::vector<std::string>& notes) {
  if (const auto rule = kind_rule(path)) {
    if (const auto* kind = over.find(rule->key)) drop_old_component(base, *kind, path, notes);
  }
  for (auto& entry : over.entries()) {
    auto* old = base.find(entry.key);
    auto* table = entry.value.as<Table>();
    if (old != nullptr && old->as<Table>() != nullptr && table != nullptr) {
      path.push_back(entry.key);
      merge_at(*old->as<Table>(), std::move(*table), path, notes);
      path.pop_back();
    } else {
      replace(base, std::move(entry));
    }
  }
}

std::vector<std::string> split_key(std::string_view key) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= key.size();) {
    const auto end = std::min(key.find('.', begin), key.size());
    parts.emplace_back(key.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

bool names_component(const Setting& setting) {
  const auto rule = kind_rule({setting.path.begin(), setting.path.end() - 1});
  return rule && setting.path.back() == rule->key;
}

Value* element(Value& list, const std::string& part) {
  auto* array = list.as<Array>();
  const bool digits = !part.empty() && part.size() < 9 && part.find_first_not_of("0123456789") == std::string::npos;
  if (array == nullptr || !digits) return nullptr;
  const auto index = std::stoul(part);
  return index < array->size() ? &(*array)[index] : nullptr;
}

// The table that holds the last part of the path, made where it is missing.
Table* holder(Table& root, const Setting& setting, const std::string& folder, MistakeList& mistakes) {
  auto* table = &root;
  for (std::size_t i = 0; i + 1 < setting.path.size(); ++i) {
    const auto& part = setting.path[i];
    if (table->find(part) == nullptr) {
      Value empty{Table(), {setting.place(), folder, {}}};
      table->set(part, setting.place(), std::move(empty));
    }
    auto* value = table->find(part);
    if (value->as<Array>() != nullptr && i + 2 < setting.path.size()) {
      auto* picked = element(*value, setting.path[i + 1]);
      if (picked != nullptr) {
        value = picked;
        ++i;
      }
    }
    table = value->as<Table>();
    if (table == nullptr) {
      const auto upto = dotted({setting.path.begin(), setting.path.begin() + static_cast<std::ptrdiff_t>(i) + 1});
      mistakes.add(setting.place(), dotted(setting.path), upto + " is not a table but " + describe(*value),
                   value->as<Array>() != nullptr ? "pick an element by its number from 0: " + upto + ".0" : "");
      return nullptr;
    }
  }
  return table;
}

}  // namespace

void merge(Table& base, Table over, std::vector<std::string>& notes) {
  std::vector<std::string> path;
  merge_at(base, std::move(over), path, notes);
}

std::vector<Setting> parse_settings(const std::vector<std::string>& texts, MistakeList& mistakes) {
  std::vector<Setting> out;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const auto& text = texts[i];
    Setting setting{static_cast<int>(i) + 1, {}, {}};
    if (!is_utf8(text)) {
      mistakes.add(setting.place(), "", "the text is not UTF-8");
      continue;
    }
    const auto sign = text.find('=');
    if (sign != std::string::npos) setting.path = split_key(std::string_view(text).substr(0, sign));
    if (sign == std::string::npos || std::count(setting.path.begin(), setting.path.end(), "") > 0) {
      mistakes.add(setting.place(), "", "expected KEY=VALUE, found '" + text + "'", "for example --set train.steps=30");
      continue;
    }
    setting.value = text.substr(sign + 1);
    const auto twin = std::find_if(out.begin(), out.end(), [&](const Setting& s) { return s.path == setting.path; });
    if (twin != out.end()) {
      mistakes.add(setting.place(), dotted(setting.path), "this key is set twice; the first is " + twin->place().text(),
                   "keep one of them");
      continue;
    }
    out.push_back(std::move(setting));
  }
  return out;
}

void apply(std::vector<Setting> settings, Table& root, const std::string& folder, MistakeList& mistakes,
           std::vector<std::string>& notes) {
  std::stable_partition(settings.begin(), settings.end(), names_component);
  for (const auto& setting : settings) {
    auto* table = holder(root, setting, folder, mistakes);
    if (table == nullptr) continue;
    Value value{RawText{setting.value}, {setting.place(), folder, {}}};
    if (names_component(setting))
      drop_old_component(*table, value, {setting.path.begin(), setting.path.end() - 1}, notes);
    replace(*table, {setting.path.back(), setting.place(), std::move(value)});
  }
}

}  // namespace dtrain
