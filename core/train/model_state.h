// SPDX-License-Identifier: Apache-2.0
//
// The committed state of one rank: the model's tensors and the optimizer's slots in an arena, and which entry of the parameter
// table is which tensor of the flat layout.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/nn/parameter_table.h"
#include "core/state/flat_layout.h"
#include "core/state/state_arena.h"

namespace dtrain {

class ModelState {
 public:
  // Lays out the table's parameters, then its buffers; slots are zero.
  ModelState(const ParameterTable& table, std::span<const std::string_view> slots);

  // First values of parameters and buffers.
  void initialise(const ParameterTable& table, std::uint64_t seed);

  const FlatLayout& layout() const { return layout_; }
  StateArena& arena() { return arena_; }
  const StateArena& arena() const { return arena_; }
  std::size_t entry_of(std::size_t tensor) const { return entry_of_tensor_[tensor]; }
  std::size_t tensor_of(std::size_t entry) const { return tensor_of_entry_[entry]; }

  // A tensor as checkpoints name it, and where it lies.
  struct Piece {
    std::string name;  // "model.<param>", "buffer.<name>", "optimizer.<slot>.<param>"
    std::size_t region = 0;
    std::size_t tensor = 0;
  };
  const std::vector<Piece>& pieces() const { return pieces_; }

 private:
  std::vector<std::size_t> entry_of_tensor_;
  std::vector<std::size_t> tensor_of_entry_;
  FlatLayout layout_;
  StateArena arena_;
  std::vector<Piece> pieces_;
};

}  // namespace dtrain
