// SPDX-License-Identifier: Apache-2.0
#include "core/comm/tree_fold.h"

#include <dtrain/error.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace dtrain {
namespace {

constexpr std::size_t kAdd = std::numeric_limits<std::size_t>::max();

// Two loops rather than one, because the compiler vectorises them only when it knows what is what.
void add(const float* __restrict a, const float* __restrict b, float* __restrict out, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) out[i] = a[i] + b[i];
}
void add_to(float* __restrict a, const float* __restrict b, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) a[i] += b[i];
}

}  // namespace

void TreeFold::set_inputs(std::vector<LaneNode> nodes) {
  nodes_ = std::move(nodes);
  program_.clear();
  visit(root_of(lanes_), 0);
  const auto pushed =
      static_cast<std::size_t>(std::count_if(program_.begin(), program_.end(), [](auto op) { return op != kAdd; }));
  DTRAIN_CHECK(pushed == nodes_.size(), "the inputs of a fold are disjoint nodes of its tree");
}

// Returns whether the node has work.
bool TreeFold::visit(LaneNode node, std::size_t depth) {
  if (const auto input = std::find(nodes_.begin(), nodes_.end(), node); input != nodes_.end()) {
    program_.push_back(static_cast<std::size_t>(input - nodes_.begin()));
    return true;
  }
  if (node.level == 0 || node.range(lanes_).begin >= lanes_) return false;
  const bool left = visit(node.left(), depth);
  const bool right = visit(node.right(), left ? depth + 1 : depth);
  if (left && right) {
    program_.push_back(kAdd);
    if (scratch_.size() < depth) scratch_.resize(depth, std::vector<float>(kPiece));
  }
  return left || right;
}

void TreeFold::fold(std::span<const float* const> inputs, std::span<float> out) {
  DTRAIN_CHECK(inputs.size() == nodes_.size());
  if (inputs.empty()) {
    std::fill(out.begin(), out.end(), 0.0f);
    return;
  }
  for (std::size_t begin = 0; begin < out.size(); begin += kPiece) {
    const auto piece = out.subspan(begin, std::min(kPiece, out.size() - begin));
    stack_.clear();
    for (const auto op : program_) {
      if (op != kAdd) {
        stack_.push_back(inputs[op] + begin);
        continue;
      }
      const float* right = stack_.back();
      stack_.pop_back();
      float* sum = stack_.size() == 1 ? piece.data() : scratch_[stack_.size() - 2].data();
      if (stack_.back() == sum) {
        add_to(sum, right, piece.size());
      } else {
        add(stack_.back(), right, sum, piece.size());
      }
      stack_.back() = sum;
    }
    if (stack_.front() != piece.data()) std::copy_n(stack_.front(), piece.size(), piece.data());
  }
}

}  // namespace dtrain
