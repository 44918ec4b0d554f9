// SPDX-License-Identifier: Apache-2.0
#include "core/comm/tree_fold.h"

#include <algorithm>
#include <cstring>

namespace dtrain {
namespace {

void add(const float* a, const float* b, float* out, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) out[i] = a[i] + b[i];
}

}  // namespace

// The value of a node: a part as it lies, or a sum written to `out` (the caller's memory for this node).
const float* TreeFold::visit(LaneNode node, const std::map<LaneNode, const float*>& parts, std::span<float> out,
                             std::size_t depth) {
  if (const auto part = parts.find(node); part != parts.end()) return part->second;
  if (node.level == 0 || node.range(lanes_).begin >= lanes_) return nullptr;
  if (scratch_.size() <= depth) scratch_.resize(depth + 1);
  if (scratch_[depth].size() < out.size()) scratch_[depth].resize(out.size());
  const float* left = visit(node.left(), parts, out, depth + 1);
  if (left == nullptr) return visit(node.right(), parts, out, depth + 1);
  const float* right = visit(node.right(), parts, std::span(scratch_[depth]).first(out.size()), depth + 1);
  if (right == nullptr) return left;
  add(left, right, out.data(), out.size());
  return out.data();
}

void TreeFold::fold(const std::map<LaneNode, const float*>& parts, std::span<float> out) {
  const float* sum = visit(root_of(lanes_), parts, out, 0);
  if (sum == nullptr) {
    std::fill(out.begin(), out.end(), 0.0f);
  } else if (sum != out.data() && !out.empty()) {
    std::memcpy(out.data(), sum, out.size_bytes());
  }
}

}  // namespace dtrain
