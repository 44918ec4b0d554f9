// SPDX-License-Identifier: Apache-2.0
//
// From an optimizer's arithmetic on one element (see optimizer.h) to a component. T has
//
//   struct Options { ...; constexpr void describe(Schema&); };           may be left out
//   explicit T(const Options&);  or T is an aggregate of its Options     throws UserError on a bad combination
//   static constexpr std::array<std::string_view, N> slots;
//   struct Coefficients { ... };                                         a trivial value
//   Coefficients coefficients(const UpdateScalars&) const;
//   static void apply(const Coefficients&, float& p, float g, float* s); inline; branches only on the coefficients
//
// `g` is the gradient times UpdateScalars::grad_scale. Promise: the result of an element depends on that element's
// values alone, to the last bit: however a range is cut, whichever element falls into a vector or into the rest of a
// loop. IEEE 754 gives that for + - * / and sqrt as long as no multiplication and addition are contracted into one
// rounding; so the vector kernel is compiled for AVX2 without FMA. Compile with -ffp-contract=off when the base
// instruction set has FMA, and with -fno-math-errno so that sqrt becomes one instruction (dtrain_add_plugin does both).
#pragma once

#include <dtrain/optimizer.h>

#include <array>
#include <concepts>
#include <cstddef>
#include <string_view>
#include <type_traits>
#include <utility>

namespace dtrain {
namespace elementwise {

template <class T>
struct OptionsOf {
  using type = NoOptions;
};
template <class T>
requires requires {
  typename T::Options;
}
struct OptionsOf<T> {
  using type = typename T::Options;
};

template <class T, std::size_t... Slot>
[[gnu::always_inline]] inline void run(const typename T::Coefficients& k, float scale, const TensorRange& range,
                                       std::index_sequence<Slot...>) {
  float* const param = range.param.data();
  const float* const grad = range.grad.data();
  const std::array<float*, sizeof...(Slot)> slots = {range.slots[Slot]...};
  const std::size_t count = range.param.size();
  // The buffers of a range never overlap, which the compiler cannot know.
#if defined(__clang__)
#pragma clang loop vectorize(assume_safety)
#else
#pragma GCC ivdep
#endif
  for (std::size_t i = 0; i < count; ++i) {
    float p = param[i];
    float s[sizeof...(Slot) + 1] = {slots[Slot][i]..., 0.0F};
    T::apply(k, p, grad[i] * scale, s);
    param[i] = p;
    ((slots[Slot][i] = s[Slot]), ...);
  }
}

template <class T>
using SlotIndices = std::make_index_sequence<T::slots.size()>;

template <class T>
void run_baseline(const typename T::Coefficients& k, float scale, const TensorRange& range) {
  run<T>(k, scale, range, SlotIndices<T>());
}

#if defined(__x86_64__)
template <class T>
[[gnu::target("avx2")]] void run_avx2(const typename T::Coefficients& k, float scale, const TensorRange& range) {
  run<T>(k, scale, range, SlotIndices<T>());
}
#endif

template <class T>
using Kernel = void (*)(const typename T::Coefficients&, float, const TensorRange&);

// A fixed rule on the instruction set: nothing is measured, so every rank of a bit domain takes the same.
template <class T>
Kernel<T> kernel_for_this_cpu() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) return &run_avx2<T>;
#endif
  return &run_baseline<T>;
}

}  // namespace elementwise

template <class T>
class ElementwiseOptimizer final : public Optimizer {
 public:
  using Options = typename elementwise::OptionsOf<T>::type;
  static_assert(std::is_trivially_copyable_v<typename T::Coefficients>);

  ElementwiseOptimizer(const OptimizerContext&, const Options& options) : functor_(make(options)) {}

  Granularity granularity() const override { return Granularity::element; }
  std::span<const std::string_view> slots() const override { return T::slots; }
  void update(const UpdateScalars& scalars, const TensorRange& range) const override {
    const typename T::Coefficients coefficients = functor_.coefficients(scalars);
    kernel_(coefficients, scalars.grad_scale, range);
  }

 private:
  static T make(const Options& options) {
    if constexpr (std::constructible_from<T, const Options&>) {
      return T(options);
    } else if constexpr (requires { T{options}; }) {
      return T{options};
    } else {
      return T{};
    }
  }

  T functor_;
  elementwise::Kernel<T> kernel_ = elementwise::kernel_for_this_cpu<T>();
};

template <class T>
constexpr ComponentDeclaration elementwise_optimizer(std::string_view name) {
  return optimizer<ElementwiseOptimizer<T>, typename ElementwiseOptimizer<T>::Options>(name);
}

}  // namespace dtrain
