// SPDX-License-Identifier: Apache-2.0
//
// A plain torch::nn::Module as a model, under the data-parallel strategies. It cannot be cut into stages or across
// ranks: those strategies refuse it by name.
//
//   struct Net : torch::nn::Module {
//     explicit Net(const Options& o);                 // or Net(const dtrain::Build&, const Options&)
//     at::Tensor forward(const dtrain::Batch& batch);
//   };
//   DTRAIN_PLUGIN("net", "0.1.0", dtrain::torch_model<Net, Options>("net"))
//
// What is promised and what not:
// - First values are those that the constructor gives, with libtorch's default generator seeded from the run's seed.
// - In training the default generator is seeded anew for each micro-batch, from its step and first sample. Random
// layers
//   (torch::nn::Dropout) therefore do not depend on ranks or resumes, but they do depend on micro_batch_size.
// - Parameters and buffers are contiguous fp32 tensors on the CPU, registered with the module by the end of its
// constructor,
//   and never replaced afterwards. forward() does not write parameters: they may be read-only memory.
// - A counter `num_batches_tracked` (torch::nn::BatchNorm) is not part of the run's state; a BatchNorm without
// momentum, which
//   depends on it, is refused.
#pragma once

#include <ATen/ATen.h>
#include <dtrain/model.h>
#include <torch/nn/module.h>
#include <torch/nn/modules/batchnorm.h>

#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_set>

namespace dtrain {

template <class Module, class Options>
class TorchModel final : public Model {
 public:
  TorchModel(const Build& b, const Options& options) : build_(b) {
    at::manual_seed(b.rng().generator_seed(b.path(), nullptr));
    module_ = make(b, options);
    std::unordered_set<const void*> seen;  // a shared tensor is registered once, under its first name
    for (const auto& item : module_->named_parameters()) {
      if (seen.insert(item.value().unsafeGetTensorImpl()).second)
        b.adopt(item.key(), item.value(), Params::Role::parameter);
    }
    for (const auto& item : module_->named_buffers()) {
      if (std::string_view(item.key()).ends_with("num_batches_tracked")) continue;
      if (seen.insert(item.value().unsafeGetTensorImpl()).second)
        b.adopt(item.key(), item.value(), Params::Role::buffer);
    }
    for (const auto& item : module_->named_modules()) refuse_cumulative_average(item.key(), *item.value());
  }

  at::Tensor forward(const Batch& batch) override {
    if (module_->is_training() != batch.training) module_->train(batch.training);
    if (batch.training) at::manual_seed(build_.rng().generator_seed(build_.path(), &batch));
    return module_->forward(batch);
  }

 private:
  static std::shared_ptr<Module> make(const Build& b, const Options& options) {
    if constexpr (std::is_constructible_v<Module, const Build&, const Options&>) {
      return std::make_shared<Module>(b, options);
    } else {
      static_assert(std::is_constructible_v<Module, const Options&>,
                    "the module's constructor takes (const Options&) or (const dtrain::Build&, const Options&)");
      return std::make_shared<Module>(options);
    }
  }

  template <class Norm>
  static bool is_cumulative(torch::nn::Module& module) {
    const auto* norm = dynamic_cast<Norm*>(&module);
    return norm != nullptr && norm->options.track_running_stats() && !norm->options.momentum().has_value();
  }
  static void refuse_cumulative_average(const std::string& name, torch::nn::Module& module) {
    if (is_cumulative<torch::nn::BatchNorm1dImpl>(module) || is_cumulative<torch::nn::BatchNorm2dImpl>(module) ||
        is_cumulative<torch::nn::BatchNorm3dImpl>(module)) {
      throw UserError("model: the BatchNorm '" + name +
                          "' has no momentum, so its statistics would depend on how often it was called",
                      "give it a momentum, such as 0.1");
    }
  }

  Build build_;
  std::shared_ptr<Module> module_;
};

template <class Module, class Options = NoOptions>
constexpr ComponentDeclaration torch_model(std::string_view name) {
  return component<ModelKind, TorchModel<Module, Options>, Options>(name);
}

}  // namespace dtrain
