// SPDX-License-Identifier: Apache-2.0
//
// Models and losses against torch.nn modules of the PyTorch that Debian's python3 has: same weights, same batch;
// output, loss, gradients and buffers must agree. This side runs the plugins and writes all tensors to a folder;
// reference.py compares.
#include <dtrain/loss.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/contract/plugin_component.h"
#include "tests/unit/nn/model_bench.h"

namespace dtrain {
namespace {

using test::Bench;

struct Case {
  std::string label;
  std::string model;
  OptionValues model_options;
  std::string loss = "cross_entropy";
  OptionValues loss_options = {};
  bool mask = false;
  bool training = true;
};

std::vector<Case> cases() {
  const OptionValues gpt{
      {"num_layers", std::int64_t{2}}, {"hidden_size", std::int64_t{24}}, {"num_heads", std::int64_t{3}}};
  auto untied = gpt;
  untied["tied_head"] = false;
  const OptionValues convnet{{"channels", std::vector<std::int64_t>{5, 7}}};
  return {
      {.label = "gpt_tied", .model = "gpt", .model_options = gpt},
      {.label = "gpt_untied", .model = "gpt", .model_options = untied},
      {.label = "gpt_mask_smoothing",
       .model = "gpt",
       .model_options = gpt,
       .loss_options = {{"label_smoothing", 0.1}},
       .mask = true},
      {.label = "convnet_training", .model = "convnet", .model_options = convnet},
      {.label = "convnet_evaluation", .model = "convnet", .model_options = convnet, .training = false},
      {.label = "mlp_classes", .model = "mlp", .model_options = {{"hidden_sizes", std::vector<std::int64_t>{9, 8}}}},
      {.label = "mlp_regression",
       .model = "mlp",
       .model_options = {{"outputs", std::int64_t{4}}},
       .loss = "mse",
       .mask = true},
  };
}

// One folder: a file of raw numbers for each tensor, and index.txt with a line "name dtype file shape..." for each.
class Folder {
 public:
  Folder() : path_(std::filesystem::temp_directory_path() / ("dtrain-model-parity-" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(path_);
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  void write(const std::string& label, const std::string& name, const at::Tensor& tensor) {
    const auto dense = tensor.detach().contiguous();
    const bool integer = dense.scalar_type() == at::kLong;
    ASSERT_TRUE(integer || dense.scalar_type() == at::kFloat) << name;
    const auto file = std::to_string(count_++);
    std::ofstream out(path_ / file, std::ios::binary);
    out.write(static_cast<const char*>(dense.data_ptr()), static_cast<std::streamsize>(dense.nbytes()));
    index_ << label << ' ' << name << ' ' << (integer ? "int64" : "float32") << ' ' << file;
    for (const auto d : dense.sizes()) index_ << ' ' << d;
    index_ << '\n';
  }

  std::filesystem::path finish() {
    std::ofstream(path_ / "index.txt") << index_.str();
    return path_;
  }

 private:
  std::filesystem::path path_;
  std::ostringstream index_;
  int count_ = 0;
};

Batch batch_for(const Case& c) {
  Batch batch;
  batch.training = c.training;
  batch.size = 5;
  if (c.model == "gpt") {
    batch.fields.emplace_back("input", at::randint(0, 11, {5, 9}, at::kLong));
    batch.fields.emplace_back("target", at::randint(0, 11, {5, 9}, at::kLong));
    batch.fields[1].second[2][3] = -100;
    if (c.mask) batch.fields.emplace_back("mask", at::randint(0, 2, {5, 9}, at::kLong));
    return batch;
  }
  batch.fields.emplace_back("input", at::randn({5, 1, 12, 8}));
  batch.fields.emplace_back("target", c.loss == "mse" ? at::randn({5, 4}) : at::randint(0, 6, {5}, at::kLong));
  if (c.mask) batch.fields.emplace_back("mask", at::tensor({1, 0, 1, 1, 1}, at::kLong));
  return batch;
}

void run(const Case& c, Folder& folder) {
  Bench bench(3);
  bench.data =
      c.model == "gpt"
          ? DataInfo{.fields = {}, .vocab_size = 11, .num_classes = 0, .seq_len = 9}
          : DataInfo{.fields = {{"input", DType::f32, {1, 12, 8}}}, .vocab_size = 0, .num_classes = 6, .seq_len = 0};
  const std::string plugins = DTRAIN_PLUGINS;
  const auto model = test::PluginComponent<ModelKind>(plugins + "/model_" + c.model + ".so", c.model)
                         .make(bench.build(), c.model_options);
  const auto loss =
      test::PluginComponent<LossKind>(plugins + "/loss_" + c.loss + ".so", c.loss).make({}, c.loss_options);
  bench.bind();
  at::manual_seed(4);
  const auto entries = bench.workshop.parameters().entries();
  for (const auto& entry : entries) {
    // Not the zeros and ones of a new model, which would hide mistakes. Variances stay positive.
    auto values = entry.tensor.detach();
    entry.spec.name.ends_with("running_var") ? values.uniform_(0.5, 2) : values.add_(at::randn(entry.spec.shape) * 0.2);
    folder.write(c.label, (entry.buffer ? "buffer/" : "param/") + entry.spec.name, values);
  }
  const auto batch = batch_for(c);
  for (const auto& [name, tensor] : batch.fields) folder.write(c.label, "batch/" + name, tensor);
  const auto output = model->forward(batch);
  const auto value = loss->forward(output, batch);
  value.sum.backward();
  folder.write(c.label, "result/output", output);
  folder.write(c.label, "result/sum", value.sum);
  folder.write(c.label, "result/weight", at::scalar_tensor(value.weight, at::kFloat));
  for (const auto& entry : entries) {
    folder.write(c.label, (entry.buffer ? "after/" : "grad/") + entry.spec.name,
                 entry.buffer ? entry.tensor : entry.tensor.grad());
  }
}

TEST(ModelParity, OutputsLossesGradientsAndBuffersEqualTorch) {
  Folder folder;
  for (const auto& c : cases()) {
    SCOPED_TRACE(c.label);
    run(c, folder);
  }
  const std::string command =
      "/usr/bin/python3 " DTRAIN_SOURCE "/tests/parity/models/reference.py '" + folder.finish().string() + "'";
  EXPECT_EQ(std::system(command.c_str()), 0) << command << "\n(needs Debian's python3-torch)";
}

}  // namespace
}  // namespace dtrain
