// SPDX-License-Identifier: Apache-2.0
#include "core/recipe/unknown_key.h"

#include <algorithm>

#include "core/base/nearest_name.h"
#include "core/recipe/foreign_names.h"
#include "core/recipe/host_tables.h"

namespace dtrain {
namespace {

std::string join(const std::vector<std::string>& names) {
  std::string out;
  for (const auto& name : names) out += (out.empty() ? "" : ", ") + name;
  return out;
}

std::string in_quotes(std::string_view text) {
  return "'" + std::string(text) + "'";
}

struct Home {
  std::string table;
  std::string key;

  std::string dotted() const { return table.empty() ? key : table + "." + key; }
};

// Every key of dtrain's own, and where it belongs.
std::vector<Home> host_homes() {
  std::vector<Home> homes;
  for (const auto& table : host_tables()) {
    homes.push_back({"", table.name});
    for (const auto& key : table.host_keys()) {
      if (key != "kind") homes.push_back({table.name, key});
    }
    for (const auto& list : table.lists) {
      for (const auto& option : list.options) homes.push_back({table.name + "." + list.name, option.spec.name});
    }
  }
  return homes;
}

bool has_option(const CatalogEntry& entry, std::string_view name) {
  const auto& options = entry.component->options;
  return std::any_of(options.begin(), options.end(), [&](const OptionSpec& o) { return o.name == name; });
}

// "sgd, lion": the components of a kind that have an option.
std::vector<std::string> owners(const std::string& kind, std::string_view option, const ComponentSource& components) {
  std::vector<std::string> out;
  for (const auto& entry : components.of_kind(kind)) {
    if (has_option(entry, option)) out.push_back(entry.component->name);
  }
  return out;
}

std::string elsewhere(const UnknownKey& unknown, const ComponentSource& components) {
  if (!unknown.component_kind.empty()) {
    const auto others = owners(unknown.component_kind, unknown.key, components);
    if (!others.empty()) {
      return "the " + unknown.component_kind + " " + unknown.component + " has no such option; it is one of " +
             join(others);
    }
  }
  // One slip from a key of the table it stands in: that is what was meant.
  const auto near = nearest_name(unknown.key, unknown.valid);
  if (!near.empty() && name_distance(unknown.key, near) <= 1) return "";
  std::vector<std::string> places;
  for (const auto& home : host_homes()) {
    if (home.key == unknown.key && home.table != unknown.table)
      places.push_back(home.table.empty() ? "the table [" + home.key + "]" : home.dotted());
  }
  if (places.empty()) {
    for (const auto& table : host_tables()) {
      if (table.component_kind.empty() || table.name == unknown.table) continue;
      const auto names = owners(table.component_kind, unknown.key, components);
      if (!names.empty()) {
        places.push_back(table.name + "." + unknown.key + " (with " + table.kind_key + " " + join(names) + ")");
      }
    }
  }
  return places.empty() ? "" : "it belongs elsewhere: " + join(places);
}

std::string translation(const ForeignName& foreign) {
  std::string out;
  if (!foreign.ours.empty()) out = "dtrain's name is " + std::string(foreign.ours);
  if (!foreign.sentence.empty()) out += (out.empty() ? "" : "; ") + std::string(foreign.sentence);
  return out;
}

const ForeignName* nearest_foreign(std::string_view key, std::size_t limit) {
  const ForeignName* best = nullptr;
  for (const auto& foreign : foreign_names()) {
    // Short names are near to everything.
    const auto distance = foreign.name.size() < 5 ? limit : name_distance(key, foreign.name);
    if (distance < limit) {
      limit = distance;
      best = &foreign;
    }
  }
  return best;
}

std::string nearest(const UnknownKey& unknown) {
  const auto prefix = unknown.table.empty() ? "" : unknown.table + ".";
  const auto here = nearest_name(unknown.key, unknown.valid);
  const auto limit = here.empty() ? allowed_distance(unknown.key) + 1 : name_distance(unknown.key, here);
  if (const auto* foreign = nearest_foreign(unknown.key, limit))
    return "close to " + in_quotes(foreign->name) + ": " + translation(*foreign);
  if (!here.empty()) return "did you mean " + in_quotes(prefix + here) + "?";
  std::vector<std::string> names;
  const auto homes = host_homes();
  for (const auto& home : homes) names.push_back(home.key);
  const auto other = nearest_name(unknown.key, names);
  const auto it = std::find_if(homes.begin(), homes.end(), [&](const Home& home) { return home.key == other; });
  return other.empty() ? "" : "did you mean " + in_quotes(it->dotted()) + "?";
}

}  // namespace

KeyAdvice explain(const UnknownKey& unknown, const ComponentSource& components) {
  auto advice = elsewhere(unknown, components);
  if (advice.empty()) {
    const auto* foreign = foreign_name(unknown.key);
    advice = foreign != nullptr ? translation(*foreign) : nearest(unknown);
  }
  KeyAdvice out;
  out.message = "unknown key" + (advice.empty() ? "" : "; " + advice);
  out.hint = unknown.table.empty() ? "a recipe has: schema, extends, " : "[" + unknown.table + "] has: ";
  out.hint += join(unknown.valid);
  return out;
}

}  // namespace dtrain
