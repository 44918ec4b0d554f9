// SPDX-License-Identifier: Apache-2.0
#include "core/nn/parameter_table.h"

#include <ATen/ATen.h>
#include <dtrain/error.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>

#include <algorithm>
#include <utility>

#include "core/nn/initial_values.h"

namespace dtrain {
namespace {

// Runs after AccumulateGrad, which the engine calls once, when every use of the parameter has been differentiated, and
// also when all of them wrote their part by themselves and passed nothing on.
class ReadyHook final : public torch::autograd::FunctionPostHook {
 public:
  ReadyHook(std::size_t index, std::shared_ptr<const GradReady> ready) : index_(index), ready_(std::move(ready)) {}
  torch::autograd::variable_list operator()(const torch::autograd::variable_list& outputs,
                                            const torch::autograd::variable_list&) override {
    if (*ready_) (*ready_)(index_);
    return outputs;
  }

 private:
  std::size_t index_;
  std::shared_ptr<const GradReady> ready_;  // shared: a graph may outlive the table
};

std::string text_of(const std::vector<std::int64_t>& shape) {
  std::string out;
  for (const auto d : shape) {
    out.push_back(out.empty() ? '[' : ',');
    out.append(std::to_string(d));
  }
  return out.empty() ? "[]" : out.append("]");
}

at::Tensor view_of(float* data, const std::vector<std::int64_t>& shape) {
  return at::from_blob(data, shape, at::TensorOptions().dtype(at::kFloat));
}

}  // namespace

struct ParameterTable::Autograd {
  std::shared_ptr<GradReady> ready = std::make_shared<GradReady>();
  std::vector<std::shared_ptr<torch::autograd::Node>> accumulators;  // one an entry; null for buffers

  void add(std::size_t index, const at::Tensor& parameter) {
    accumulators.resize(index + 1);
    accumulators[index] = torch::autograd::impl::grad_accumulator(parameter);
    accumulators[index]->add_post_hook(std::make_unique<ReadyHook>(index, ready));
  }
};

ParameterTable::ParameterTable() : autograd_(std::make_unique<Autograd>()) {}
ParameterTable::~ParameterTable() = default;

at::Tensor ParameterTable::param(const ParamSpec& spec) {
  return add(spec, {}, false);
}

at::Tensor ParameterTable::buffer(const ParamSpec& spec) {
  return add(spec, {}, true);
}

void ParameterTable::adopt(const std::string& name, const at::Tensor& tensor, Role role) {
  if (tensor.scalar_type() != at::kFloat || !tensor.device().is_cpu() || !tensor.is_contiguous() || !tensor.is_leaf()) {
    throw UserError("model: '" + name + "' is a " + tensor.toString() + " of shape " + text_of(tensor.sizes().vec()) +
                        "; parameters and buffers are contiguous fp32 leaf tensors on the CPU",
                    "create it as such in the module's constructor");
  }
  ParamSpec spec{.name = name, .shape = tensor.sizes().vec(), .init = {}, .shard_dim = -1};
  add(spec, tensor, role == Role::buffer);
}

at::Tensor ParameterTable::add(const ParamSpec& spec, at::Tensor tensor, bool buffer) {
  if (index_of_.contains(spec.name)) {
    throw UserError("model: two tensors have the name '" + spec.name + "'",
                    "give each layer its own place in the tree of names: build / \"name\" / index");
  }
  std::size_t elements = 1;
  for (const auto d : spec.shape) {
    if (d < 0)
      throw UserError("model: '" + spec.name + "' has the shape " + text_of(spec.shape) +
                      "; no dimension may be negative");
    elements *= static_cast<std::size_t>(d);
  }
  const auto index = entries_.size();
  Entry entry{.spec = spec, .tensor = {}, .buffer = buffer, .elements = elements, .adopted = {}};
  if (tensor.defined()) {
    entry.adopted = tensor.detach();
    entry.tensor = std::move(tensor);
  } else {
    entry.tensor = at::empty(spec.shape, at::TensorOptions().dtype(at::kFloat));
  }
  const bool trained = !buffer && (!entry.adopted.defined() || entry.tensor.requires_grad());
  entry.tensor.set_requires_grad(trained);
  if (trained) autograd_->add(index, entry.tensor);
  entries_.push_back(std::move(entry));
  grad_views_.emplace_back();
  index_of_.emplace(spec.name, index);
  return entries_.back().tensor;
}

at::Tensor ParameterTable::registered(const std::string& name) const {
  if (const auto* entry = find(name)) return entry->tensor;
  throw UserError("model: no tensor has the name '" + name + "' yet", "register it before the layer that shares it");
}

const ParameterTable::Entry* ParameterTable::find(std::string_view name) const {
  const auto it = index_of_.find(name);
  return it == index_of_.end() ? nullptr : &entries_[it->second];
}

void ParameterTable::initial_values(std::size_t index, std::uint64_t seed, std::span<float> out) const {
  const auto& entry = entries_.at(index);
  DTRAIN_CHECK(out.size() == entry.elements, entry.spec.name);
  if (entry.adopted.defined()) {
    std::copy_n(entry.adopted.data_ptr<float>(), entry.elements, out.begin());
  } else {
    fill_initial(entry.spec, seed, out);
  }
}

void ParameterTable::bind(std::size_t index, float* data) {
  auto& entry = entries_.at(index);
  entry.tensor.set_data(view_of(data, entry.spec.shape));
}

void ParameterTable::bind_grad(std::size_t index, float* grad) {
  auto& entry = entries_.at(index);
  DTRAIN_CHECK(!entry.buffer, entry.spec.name);
  if (!entry.tensor.requires_grad()) return;
  if (grad == nullptr) {
    entry.tensor.mutable_grad() = at::Tensor();
    return;
  }
  auto& view = grad_views_[index][grad];
  if (!view.defined()) view = view_of(grad, entry.spec.shape);
  entry.tensor.mutable_grad() = view;
}

void ParameterTable::freeze(std::size_t index) {
  auto& entry = entries_.at(index);
  DTRAIN_CHECK(!entry.buffer, entry.spec.name);
  entry.tensor.set_requires_grad(false);
}

void ParameterTable::on_grad_ready(GradReady ready) {
  *autograd_->ready = std::move(ready);
}

}  // namespace dtrain
