// SPDX-License-Identifier: Apache-2.0
#include "core/train/torch_compute.h"

#include <cstring>

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <torch/csrc/autograd/autograd.h>

#include <dtrain/rng.h>

namespace dtrain {
namespace {

Activation to_activation(const at::Tensor& tensor) {
  const auto dense = tensor.detach().contiguous();
  auto keep = std::make_shared<at::Tensor>(dense);
  return {DType::f32, dense.sizes().vec(),
          {static_cast<std::byte*>(dense.data_ptr()), static_cast<std::size_t>(dense.numel()) * sizeof(float)},
          std::move(keep)};
}

at::Tensor to_tensor(const Activation& activation) {
  DTRAIN_CHECK(activation.type == DType::f32);
  return at::from_blob(activation.bytes.data(), activation.shape, [owner = activation.owner](void*) {}, at::kFloat);
}

}  // namespace

TorchCompute::TorchCompute(Setup setup)
    : s_(std::move(setup)),
      layout_(s_.state->layout()),
      tracker_(layout_, s_.buckets),
      working_buffers_(layout_.size() - layout_.param_end()) {
  const auto tensors = layout_.tensors();
  for (std::size_t t = 0; t < tensors.size(); ++t) {
    if (t < layout_.num_params()) {
      // Layers see the read-only mapping: the cast only satisfies from_blob's signature, a write would fault.
      s_.table->bind(s_.state->entry_of(t),
                     const_cast<float*>(s_.state->arena().readable(0).data()) + tensors[t].offset);
    } else {
      s_.table->bind(s_.state->entry_of(t), working_buffers_.data() + (tensors[t].offset - layout_.param_end()));
    }
  }
  s_.table->on_grad_ready([this](std::size_t entry) { tracker_.tensor_ready(s_.state->tensor_of(entry)); });
}

TorchCompute::~TorchCompute() { s_.table->on_grad_ready({}); }

void TorchCompute::set_destination(float* flat) {
  if (destination_ == flat) return;
  destination_ = flat;
  for (std::size_t t = 0; t < layout_.num_params(); ++t) {
    s_.table->bind_grad(s_.state->entry_of(t), flat + layout_.tensors()[t].offset);
  }
}

void TorchCompute::load_buffers() {
  const auto committed = s_.state->arena().readable(0).subspan(layout_.param_end());
  if (!committed.empty()) std::memcpy(working_buffers_.data(), committed.data(), committed.size_bytes());
}

void TorchCompute::prepare(const FedBatch& fed, int micro_batch) {
  DTRAIN_CHECK(fed.index == micro_batch, "the loader gave micro-batch " + std::to_string(fed.index) + ", the step wants " +
                                             std::to_string(micro_batch));
  load_buffers();  // every micro-batch starts from the committed ones
  // Modules that draw from libtorch's own generator get a stream that depends on the micro-batch's place alone.
  auto generator = at::detail::getDefaultCPUGenerator();
  const std::lock_guard lock(generator.mutex());
  generator.set_current_seed(rng::mix(rng::mix(rng::key(s_.seed, "default-generator"), static_cast<std::uint64_t>(fed.batch.step)),
                                      static_cast<std::uint64_t>(fed.batch.first_position)));
}

void TorchCompute::record(const FedBatch& fed, const LossValue& value) {
  s_.commit->record({.index = fed.index,
                     .rank = s_.rank,
                     .samples = fed.batch.size,
                     .ids_hash = fed.ids_hash,
                     .loss_sum = value.sum.item<double>(),
                     .weight = value.weight});
}

void TorchCompute::add_buffers(std::int64_t samples) {
  const auto values = working_buffers_.span();
  float* out = destination_ + layout_.param_end();
  for (std::size_t i = 0; i < values.size(); ++i) out[i] += static_cast<float>(samples) * values[i];
}

void TorchCompute::forward_backward(int micro_batch, BucketListener* last) {
  const auto fed = s_.feed->next();
  prepare(fed, micro_batch);
  const auto output = s_.model->forward(fed.batch);
  const auto value = s_.loss->forward(output, fed.batch);
  record(fed, value);
  add_buffers(fed.batch.size);
  tracker_.begin(last);
  if (value.sum.requires_grad()) torch::autograd::backward({value.sum}, {});
  tracker_.finish();
}

int TorchCompute::num_layers() const { return static_cast<int>(s_.model->layers().size()); }

Activation TorchCompute::forward(int micro_batch, int first_layer, int end_layer, const Activation* input) {
  InFlight flight{.fed = s_.feed->next(), .input = {}, .output = {}, .is_loss = end_layer == num_layers()};
  prepare(flight.fed, micro_batch);
  at::Tensor x;
  if (first_layer == 0) {
    x = flight.fed.batch.at("input");
  } else {
    flight.input = to_tensor(*input).set_requires_grad(true);
    x = flight.input;
  }
  for (int i = first_layer; i < end_layer; ++i) {
    x = s_.model->layers()[static_cast<std::size_t>(i)]->forward(std::move(x), flight.fed.batch);
  }
  Activation result;
  if (flight.is_loss) {
    const auto value = s_.loss->forward(x, flight.fed.batch);
    record(flight.fed, value);
    flight.output = value.sum;
  } else {
    flight.output = x;
    result = to_activation(x);
  }
  add_buffers(flight.fed.batch.size);
  in_flight_.emplace(micro_batch, std::move(flight));
  return result;
}

Activation TorchCompute::backward(int micro_batch, const Activation* output_gradient, BucketListener* last) {
  auto node = in_flight_.extract(micro_batch);
  DTRAIN_CHECK(!node.empty(), "backward without a forward");
  auto& flight = node.mapped();
  tracker_.begin(last);
  if (flight.is_loss) {
    torch::autograd::backward({flight.output}, {});
  } else {
    torch::autograd::backward({flight.output}, {to_tensor(*output_gradient)});
  }
  tracker_.finish();
  return flight.input.defined() ? to_activation(flight.input.grad()) : Activation{};
}

}  // namespace dtrain
