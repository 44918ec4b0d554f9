// SPDX-License-Identifier: Apache-2.0
//
// A finite data set as a function index -> sample. Order, epochs, splitting among ranks and resume are the host's: a data set
// knows nothing of them. Independent of libtorch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <dtrain/abi.h>
#include <dtrain/dtype.h>
#include <dtrain/plugin.h>
#include <dtrain/rng.h>
#include <dtrain/tokenizer.h>

namespace dtrain {

// One array of a sample. Every sample of a data set has the same fields. The usual names: "input", "target", "mask" (1 where
// the target counts, absent when all count).
struct FieldSpec {
  std::string name;
  DType type = DType::f32;
  std::vector<std::int64_t> shape;  // of one sample, without the batch dimension

  std::size_t elements() const {
    std::size_t n = 1;
    for (auto d : shape) n *= static_cast<std::size_t>(d);
    return n;
  }
  std::size_t bytes() const { return elements() * size_of(type); }
};

enum class Split : std::uint8_t { train, eval };

struct DataContext {
  Split split = Split::train;
  std::uint64_t seed = 0;
  std::int64_t seq_len = 0;                // [data] seq_len; 0 when the recipe has none
  double eval_fraction = 0;                // share of the set that Split::eval takes and Split::train must not touch;
                                           // 0 when [data] eval names its own sets
  const Tokenizer* tokenizer = nullptr;    // null when the recipe names none
};

// What a model needs to know about the data.
struct DataInfo {
  std::vector<FieldSpec> fields;
  std::int64_t vocab_size = 0;   // token ids are in [0, vocab_size); 0 when the data are not tokens
  std::int64_t num_classes = 0;  // class labels are in [0, num_classes); 0 when there are none
  std::int64_t seq_len = 0;      // 0 when the data are not sequences

  const FieldSpec* find(std::string_view name) const {
    for (const auto& field : fields) {
      if (field.name == name) return &field;
    }
    return nullptr;
  }
};

class DataSet {
 public:
  virtual ~DataSet() = default;

  virtual const DataInfo& info() const = 0;
  virtual std::int64_t size() const = 0;  // samples; constant

  // Writes sample `index` in [0, size()) into out[i], which has info().fields[i].bytes() bytes and is aligned for its type. `draws` are
  // this sample's random numbers for augmentation; they depend on (seed, epoch, index) alone. Called from several threads at
  // once. Throws UserError (bad data: names file and position).
  virtual void read(std::int64_t index, rng::Stream& draws, std::span<const std::span<std::byte>> out) const = 0;
};

struct DataKind {
  static constexpr std::string_view name = "data";
  using Interface = DataSet;
  using Context = DataContext;
  static constexpr std::string tag() { return abi::tag(DTRAIN_ABI_HASH_DATA); }
};

template <class T, class Options = NoOptions>
constexpr ComponentDeclaration data(std::string_view name) {
  return component<DataKind, T, Options>(name);
}

}  // namespace dtrain
