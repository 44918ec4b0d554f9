// SPDX-License-Identifier: Apache-2.0
#include "core/plugin/host_tags.h"

#include <dtrain/abi.h>

#include <algorithm>
#include <array>
#include <utility>

namespace dtrain {
namespace {

struct KindEntry {
  std::string_view name;
  std::string_view interface_hash;
  bool uses_torch;
};

// A new kind is a header, a contract suite and a line here.
constexpr std::array kKinds = {
    KindEntry{"comm", DTRAIN_ABI_HASH_COMM, false},         KindEntry{"data", DTRAIN_ABI_HASH_DATA, false},
    KindEntry{"loss", DTRAIN_ABI_HASH_LOSS, true},          KindEntry{"metric", DTRAIN_ABI_HASH_METRIC, true},
    KindEntry{"model", DTRAIN_ABI_HASH_MODEL, true},        KindEntry{"optimizer", DTRAIN_ABI_HASH_OPTIMIZER, false},
    KindEntry{"schedule", DTRAIN_ABI_HASH_SCHEDULE, false}, KindEntry{"store", DTRAIN_ABI_HASH_STORE, false},
    KindEntry{"strategy", DTRAIN_ABI_HASH_STRATEGY, false}, KindEntry{"tokenizer", DTRAIN_ABI_HASH_TOKENIZER, false},
};

constexpr std::string_view kTorchOfThisBuild = DTRAIN_TORCH_VERSION;  // empty: built without libtorch

using Fields = std::vector<std::pair<std::string_view, std::string_view>>;

// "a=1 b=2"; a word without '=' is a field without value.
Fields split(std::string_view tag) {
  Fields fields;
  while (!tag.empty()) {
    const auto end = std::min(tag.find(' '), tag.size());
    const auto word = tag.substr(0, end);
    const auto equals = std::min(word.find('='), word.size());
    if (!word.empty()) fields.emplace_back(word.substr(0, equals), word.substr(std::min(equals + 1, word.size())));
    tag.remove_prefix(std::min(end + 1, tag.size()));
  }
  return fields;
}

std::string_view value_of(const Fields& fields, std::string_view key) {
  const auto it = std::ranges::find(fields, key, &Fields::value_type::first);
  return it == fields.end() ? "none" : it->second;
}

}  // namespace

HostTags host_tags() {
  HostTags tags;
  for (const auto& kind : kKinds) {
    if (kind.uses_torch && kTorchOfThisBuild.empty()) continue;
    tags.emplace(kind.name, abi::tag(kind.interface_hash, kind.uses_torch ? kTorchOfThisBuild : std::string_view()));
  }
  return tags;
}

std::string host_tag(std::string_view kind) {
  const auto tags = host_tags();
  const auto it = tags.find(kind);
  return it == tags.end() ? std::string() : it->second;
}

std::string TagDifference::text() const {
  const auto component = kind + " '" + name + "': ";
  if (field == "kind") return component + "this dtrain has no kind '" + kind + "'";
  return component + field + ": found " + found + ", expected " + expected;
}

std::vector<TagDifference> tag_differences(const ComponentInfo& component, const HostTags& host) {
  const auto own = host.find(component.kind);
  if (own == host.end()) return {{component.kind, component.name, "kind", component.kind, "none"}};
  const auto expected = split(own->second);
  const auto found = split(component.tag);
  std::vector<TagDifference> differences;
  const auto compare = [&](std::string_view field) {
    const auto is = value_of(found, field);
    const auto must = value_of(expected, field);
    if (is == must) return;
    differences.push_back({component.kind, component.name, std::string(field), std::string(is), std::string(must)});
  };
  for (const auto& [field, value] : expected) compare(field);
  for (const auto& [field, value] : found) {
    if (std::ranges::find(expected, field, &Fields::value_type::first) == expected.end()) compare(field);
  }
  if (differences.empty() && component.tag != own->second) {  // the same fields, but repeated or in another order
    differences.push_back({component.kind, component.name, "tag", "'" + component.tag + "'", "'" + own->second + "'"});
  }
  return differences;
}

std::vector<TagDifference> tag_differences(const PluginInfo& plugin, const HostTags& host) {
  std::vector<TagDifference> all;
  for (const auto& component : plugin.components) {
    std::ranges::move(tag_differences(component, host), std::back_inserter(all));
  }
  return all;
}

}  // namespace dtrain
