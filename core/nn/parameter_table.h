// SPDX-License-Identifier: Apache-2.0
//
// The parameters and buffers of one model, in registration order, and where their memory is.
#pragma once

#include <ATen/core/Tensor.h>
#include <dtrain/model.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace torch::autograd {
struct Node;
}

namespace dtrain {

// Called during backward with the index of a parameter whose gradient is complete: the last contribution of this
// backward has been added (once for a weight that several layers share). Parameters that the loss does not depend on
// are not reported.
using GradReady = std::function<void(std::size_t index)>;

// Life of a table: the model is built (registration; no memory is touched), the owner lays the entries out and binds
// them, then binds a gradient destination for each parameter before every backward.
//
// Values may be read-only memory: layers never write them. Gradients are added into their destination in place, so the
// owner zeroes it when it starts anew. A parameter without a destination gets memory of its own (zeros) on first use.
// Thread: the one that trains. fp32 only.
class ParameterTable final : public Params {
 public:
  struct Entry {
    ParamSpec spec;
    at::Tensor tensor;  // the object that layers hold
    bool buffer = false;
    std::size_t elements = 0;
    at::Tensor adopted;  // first values of an adopted tensor until they are taken
  };

  ParameterTable();
  ~ParameterTable();
  ParameterTable(const ParameterTable&) = delete;
  ParameterTable& operator=(const ParameterTable&) = delete;

  // Registration. UserError: a name that is taken, a negative dimension, a tensor that is not fp32.
  at::Tensor param(const ParamSpec& spec) override;
  at::Tensor buffer(const ParamSpec& spec) override;
  void adopt(const std::string& name, const at::Tensor& tensor, Role role) override;
  at::Tensor registered(const std::string& name) const override;

  std::span<const Entry> entries() const { return entries_; }
  const Entry* find(std::string_view name) const;

  // First values of entry `index`: drawn from its Init, or those of the adopted tensor.
  void initial_values(std::size_t index, std::uint64_t seed, std::span<float> out) const;

  // Makes the entry's values be the `elements` floats at `data`, which outlive the table or the next bind.
  void bind(std::size_t index, float* data);

  // Makes the parameter's gradient be the floats at `grad` (nullptr: none). Cheap on every pair seen before.
  void bind_grad(std::size_t index, float* grad);

  // A frozen parameter takes no part in autograd and is never reported.
  void freeze(std::size_t index);

  // Replaces the listener; an empty function removes it.
  void on_grad_ready(GradReady ready);

 private:
  struct Autograd;  // keeps the gradient accumulators, and with them the hooks, alive

  at::Tensor add(const ParamSpec& spec, at::Tensor tensor, bool buffer);

  std::vector<Entry> entries_;
  std::map<std::string, std::size_t, std::less<>> index_of_;
  std::vector<std::unordered_map<const float*, at::Tensor>> grad_views_;
  std::unique_ptr<Autograd> autograd_;
};

}  // namespace dtrain
