// SPDX-License-Identifier: Apache-2.0
#include "core/ckpt/target_check.h"

#include <dtrain/error.h>

#include <algorithm>
#include <set>

namespace dtrain::ckpt {
namespace {

constexpr std::size_t kListed = 10;

struct Problem {
  std::string_view title;
  std::set<std::string> names;  // with what is wrong; a set, because a tensor may have several targets

  std::string text() const {
    if (names.empty()) return {};
    std::string out = "\n  " + std::string(title) + " (" + std::to_string(names.size()) + "): ";
    std::size_t listed = 0;
    for (const auto& name : names) {
      if (listed == kListed) return out + ", and " + std::to_string(names.size() - kListed) + " more";
      out += (listed++ == 0 ? "" : ", ") + name;
    }
    return out;
  }
};

}  // namespace

void check_targets(const Manifest& manifest, std::span<const TensorTarget> targets,
                   std::span<const std::string> prefixes, const std::string& label) {
  Problem missing{"not in the checkpoint", {}}, extra{"in the checkpoint only", {}}, different{"different", {}};
  std::set<std::string_view> wanted;
  for (const auto& target : targets) {
    wanted.insert(target.name);
    const auto it = std::ranges::lower_bound(manifest.tensors, target.name, {}, &TensorRecord::name);
    if (it == manifest.tensors.end() || it->name != target.name) {
      missing.names.insert(target.name);
    } else if (it->type != target.type || it->shape != target.shape) {
      different.names.insert(target.name + " is " + describe(it->type, it->shape) + " there and " +
                             describe(target.type, target.shape) + " here");
    } else {
      const auto elements = *element_count(it->shape, it->type);
      DTRAIN_CHECK(target.offset >= 0 && target.count >= 0 && target.count <= elements - target.offset, target.name);
      DTRAIN_CHECK(target.data.size() == static_cast<std::size_t>(target.count) * size_of(target.type), target.name);
    }
  }
  for (const auto& tensor : manifest.tensors) {
    const bool asked =
        std::ranges::any_of(prefixes, [&](const auto& prefix) { return tensor.name.starts_with(prefix); });
    if (asked && !wanted.contains(tensor.name)) extra.names.insert(tensor.name);
  }
  const auto problems = missing.text() + extra.text() + different.text();
  if (problems.empty()) return;
  throw UserError("the checkpoint " + label + " does not fit this run:" + problems,
                  "resume with the model, optimizer and precision that wrote it; `dtrain ckpt show` lists its tensors");
}

}  // namespace dtrain::ckpt
