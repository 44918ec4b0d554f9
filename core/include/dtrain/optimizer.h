// SPDX-License-Identifier: Apache-2.0
//
// Optimizers. The host owns parameters, state slots, learning rate, weight decay, groups, clipping and the number of updates;
// an optimizer is only the arithmetic. Independent of libtorch.
//
// An elementwise optimizer is one static function over values (<dtrain/elementwise.h> makes it a component):
//
//   struct Sgd {
//     struct Options { ...; constexpr void describe(Schema&); };
//     Options options;
//     static constexpr std::array<std::string_view, 1> slots = {"momentum"};
//     struct Coefficients { float lr, decay, momentum; };
//     Coefficients coefficients(const UpdateScalars& u) const;                    // once an update and group
//     static void apply(const Coefficients& k, float& p, float g, float* s);      // s[i]: this element's slot i
//   };
//   DTRAIN_PLUGIN("sgd", "1.0.0", dtrain::elementwise_optimizer<Sgd>("sgd"))
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <dtrain/abi.h>
#include <dtrain/plugin.h>

namespace dtrain {

struct OptimizerContext {};

// What the host decides for one update of one parameter group.
struct UpdateScalars {
  double lr = 0;            // schedule and group scale applied
  double weight_decay = 0;  // of the group
  float grad_scale = 1;     // clip factor / total loss weight: every gradient element is multiplied by it first
  std::int64_t update = 1;  // number of this update, from 1 (for bias correction); skipped steps do not count
};

enum class Granularity : std::uint8_t {
  element,  // a result depends on the values of its own element only: any range may be updated by anyone
  tensor,   // the owner holds the entire tensor
};

// A contiguous range of one named tensor.
struct TensorRange {
  std::string_view name;
  std::span<const std::int64_t> shape;  // of the whole tensor
  std::int64_t offset = 0;              // of the range within the flattened tensor
  std::span<float> param;               // updated in place
  std::span<const float> grad;          // sum of gradients, not yet scaled
  std::span<float* const> slots;        // one pointer a slot, param.size() elements each; zeros before the first update
};

// Thread: any one thread per range; ranges may run at the same time.
class Optimizer {
 public:
  virtual ~Optimizer() = default;
  virtual Granularity granularity() const = 0;
  virtual std::span<const std::string_view> slots() const = 0;
  virtual void update(const UpdateScalars& scalars, const TensorRange& range) const = 0;
};

struct OptimizerKind {
  static constexpr std::string_view name = "optimizer";
  using Interface = Optimizer;
  using Context = OptimizerContext;
  static constexpr std::string tag() { return abi::tag(DTRAIN_ABI_HASH_OPTIMIZER); }
};

template <class T, class Options = NoOptions>
constexpr ComponentDeclaration optimizer(std::string_view name) {
  return component<OptimizerKind, T, Options>(name);
}

}  // namespace dtrain

#include <dtrain/elementwise.h>
