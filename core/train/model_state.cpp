// SPDX-License-Identifier: Apache-2.0
#include "core/train/model_state.h"

namespace dtrain {
namespace {

// Entries of the table in the order of the layout: parameters first.
std::vector<std::size_t> layout_order(const ParameterTable& table) {
  std::vector<std::size_t> order;
  for (bool buffers : {false, true}) {
    for (std::size_t i = 0; i < table.entries().size(); ++i) {
      if (table.entries()[i].buffer == buffers) order.push_back(i);
    }
  }
  return order;
}

FlatLayout make_layout(const ParameterTable& table) {
  std::vector<FlatLayout::Named> params;
  std::vector<FlatLayout::Named> buffers;
  for (const auto& entry : table.entries()) {
    (entry.buffer ? buffers : params).push_back({entry.spec.name, entry.spec.shape});
  }
  return FlatLayout(params, buffers);
}

std::vector<StateArena::Region> make_regions(const FlatLayout& layout, std::span<const std::string_view> slots) {
  std::vector<StateArena::Region> regions{{"state", layout.size()}};
  for (auto slot : slots) regions.push_back({std::string(slot), layout.param_end()});
  return regions;
}

}  // namespace

ModelState::ModelState(const ParameterTable& table, std::span<const std::string_view> slots)
    : entry_of_tensor_(layout_order(table)),
      tensor_of_entry_(entry_of_tensor_.size()),
      layout_(make_layout(table)),
      arena_("state", make_regions(layout_, slots)) {
  for (std::size_t t = 0; t < entry_of_tensor_.size(); ++t) tensor_of_entry_[entry_of_tensor_[t]] = t;
  const auto tensors = layout_.tensors();
  for (std::size_t t = 0; t < tensors.size(); ++t) {
    pieces_.push_back({(t < layout_.num_params() ? "model." : "buffer.") + tensors[t].name, 0, t});
  }
  for (std::size_t r = 1; r < arena_.regions(); ++r) {
    for (std::size_t t = 0; t < layout_.num_params(); ++t) {
      pieces_.push_back({"optimizer." + arena_.name(r) + "." + tensors[t].name, r, t});
    }
  }
}

void ModelState::initialise(const ParameterTable& table, std::uint64_t seed) {
  for (std::size_t t = 0; t < layout_.tensors().size(); ++t) {
    const auto& tensor = layout_.tensors()[t];
    table.initial_values(entry_of_tensor_[t], seed, arena_.writable(0).subspan(tensor.offset, tensor.count));
  }
}

}  // namespace dtrain
