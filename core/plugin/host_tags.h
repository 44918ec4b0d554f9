// SPDX-License-Identifier: Apache-2.0
//
// The ABI tags of this dtrain and how a plugin's differ from them. Independent of libtorch: the version that the
// runtime is built with is known from its headers, so also a process without libtorch can judge a model plugin.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/plugin/catalog.h"

namespace dtrain {

using HostTags = std::map<std::string, std::string, std::less<>>;  // by kind

// Every kind that this dtrain knows. A kind that needs libtorch is absent when dtrain was built without it.
HostTags host_tags();

// The ABI tag that a component of `kind` must have to be loaded; empty for an unknown kind.
std::string host_tag(std::string_view kind);

// One field in which a component's tag is not the host's. `field` is "kind" when the host does not know the kind at
// all.
struct TagDifference {
  std::string kind;
  std::string name;
  std::string field;
  std::string found;     // "none": the tag has no such field
  std::string expected;  // "none": the host's tag has no such field

  // "model 'tiny': libtorch: found 2.0.0, expected 1.13.1"
  std::string text() const;
};

std::vector<TagDifference> tag_differences(const ComponentInfo& component, const HostTags& host);
std::vector<TagDifference> tag_differences(const PluginInfo& plugin, const HostTags& host);

}  // namespace dtrain
