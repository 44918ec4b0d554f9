// SPDX-License-Identifier: Apache-2.0
//
// A small state, cut among ranks in different ways, and a folder for its checkpoints that goes with the test.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <map>
#include <string>
#include <system_error>
#include <vector>

#include "core/base/log.h"
#include "core/ckpt/checkpoint_store.h"
#include "plugins/stores/local/local_store.h"
#include "tests/support/temp_folder.h"

namespace dtrain {

inline std::string read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
inline void write_file(const std::filesystem::path& path, std::string_view text) {
  std::ofstream(path, std::ios::binary).write(text.data(), static_cast<std::streamsize>(text.size()));
}

// Tensors of 0, 1, 7 and more elements and of several widths; the bytes depend on `step`.
struct State {
  struct Tensor {
    DType type;
    std::vector<std::int64_t> shape;
    std::vector<std::byte> bytes;
  };
  std::map<std::string, Tensor> tensors;

  explicit State(std::int64_t step = 0, std::int64_t rows = 50) {
    add("model.weight", DType::f32, {rows, 20}, step);
    add("model.bias", DType::f32, {7}, step);
    add("model.scale", DType::bf16, {}, step);
    add("model.none", DType::f32, {3, 0}, step);
    add("buffer.count", DType::i64, {1}, step);
    add("optimizer.momentum.model.weight", DType::f64, {rows, 20}, step);
  }

  void add(const std::string& name, DType type, std::vector<std::int64_t> shape, std::int64_t step) {
    const auto bytes = static_cast<std::size_t>(element_count(shape, type).value()) * size_of(type);
    auto& tensor = tensors[name] = {type, std::move(shape), std::vector<std::byte>(bytes)};
    auto value = static_cast<std::uint32_t>(step * 7919 + static_cast<std::int64_t>(name.size()));
    for (auto& b : tensor.bytes) {
      value = value * 1664525u + 1013904223u;
      b = static_cast<std::byte>(value >> 24);
    }
  }

  // Rank r of w holds the r-th of w nearly equal ranges of each tensor.
  template <class Slice>
  std::vector<Slice> slices(int rank, int world) {
    std::vector<Slice> out;
    for (auto& [name, t] : tensors) {
      const auto elements = element_count(t.shape, t.type).value();
      const auto begin = elements * rank / world, end = elements * (rank + 1) / world;
      const auto width = static_cast<std::int64_t>(size_of(t.type));
      out.push_back({name, t.type, t.shape, begin, end - begin,
                     std::span(t.bytes).subspan(static_cast<std::size_t>(begin * width),
                                                static_cast<std::size_t>((end - begin) * width))});
    }
    return out;
  }

  bool operator==(const State& other) const {
    return std::equal(
        tensors.begin(), tensors.end(), other.tensors.begin(), other.tensors.end(),
        [](const auto& a, const auto& b) { return a.first == b.first && a.second.bytes == b.second.bytes; });
  }
};

// All ranks of a save, one after the other.
inline void save(CheckpointStore& checkpoints, std::int64_t step, State& state, int world = 2,
                 const std::map<std::string, double>& metrics = {}) {
  const auto nonce = make_nonce();
  std::vector<FileEntry> entries;
  for (int rank = 0; rank < world; ++rank) {
    const auto entry = checkpoints.write(step, nonce, rank, state.slices<TensorSlice>(rank, world));
    entries.push_back(file_entry_from_json(to_json(entry)));  // as it travels to rank 0
  }
  Manifest manifest;
  manifest.step = step;
  manifest.updates = step - 1;
  manifest.metrics = metrics;
  manifest.recipe = "[run]\nname = \"täst\"\n";
  manifest.created = utc_now();
  manifest.bit_domain = {{"threads", "1"}};
  manifest.plugins = {{"mlp", "0.1.0", "abcd"}};
  manifest.ledger = R"({"position":12})";
  checkpoints.commit(nonce, manifest, entries);
}

// Loads on `world` ranks.
inline State load(const Checkpoint& checkpoint, int world = 1) {
  State state(0, checkpoint.manifest().tensors.empty() ? 1 : 50);
  for (auto& [name, tensor] : state.tensors) std::ranges::fill(tensor.bytes, std::byte{0xee});
  for (int rank = 0; rank < world; ++rank) checkpoint.load(state.slices<TensorTarget>(rank, world));
  return state;
}

// The message of the E that `body` throws.
template <class E, class Body>
std::string message_of(Body&& body) {
  try {
    body();
  } catch (const E& e) {
    return e.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}

class CheckpointTest : public testing::Test {
 protected:
  std::filesystem::path root() const { return folder_.path() / "checkpoints"; }

  TempFolder folder_;
  LocalStore store_{StoreContext{root().string()}};
  CheckpointStore checkpoints_{store_, "checkpoints"};
};

}  // namespace dtrain
