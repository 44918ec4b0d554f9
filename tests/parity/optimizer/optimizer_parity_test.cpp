// SPDX-License-Identifier: Apache-2.0
//
// sgd and adamw against torch.optim of the PyTorch that Debian's python3 has.
#include <dtrain/optimizer.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>

#include "tests/contract/plugin_component.h"

namespace dtrain {
namespace {

constexpr std::size_t kCount = 1003;
constexpr std::size_t kUpdates = 20;

struct Case {
  std::string label;
  std::string plugin;
  OptionValues options;
  double lr = 0.01;
  double weight_decay = 0;
  std::string torch_class;
  std::string torch_arguments;  // JSON
};

std::vector<float> run_torch(const Case& c, const std::vector<float>& input) {
  const auto folder =
      std::filesystem::temp_directory_path() / ("dtrain-parity-" + c.label + "-" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  {
    std::ofstream out(folder / "input", std::ios::binary);
    out.write(reinterpret_cast<const char*>(input.data()), static_cast<std::streamsize>(input.size() * sizeof(float)));
  }
  const std::string command = "/usr/bin/python3 " DTRAIN_SOURCE "/tests/parity/optimizer/reference.py " +
                              c.torch_class + " '" + c.torch_arguments + "' " + std::to_string(kCount) + " " +
                              std::to_string(kUpdates) + " '" + (folder / "input").string() + "' '" +
                              (folder / "output").string() + "'";
  std::vector<float> output(kCount * kUpdates);
  const int status = std::system(command.c_str());
  if (status == 0) {
    std::ifstream in(folder / "output", std::ios::binary);
    in.read(reinterpret_cast<char*>(output.data()), static_cast<std::streamsize>(output.size() * sizeof(float)));
    EXPECT_EQ(in.gcount(), static_cast<std::streamsize>(output.size() * sizeof(float)));
  }
  EXPECT_EQ(status, 0) << command << "\n(needs Debian's python3-torch)";
  std::filesystem::remove_all(folder);
  return output;
}

class OptimizerParity : public testing::TestWithParam<Case> {};

TEST_P(OptimizerParity, ParametersOfTwentyUpdates) {
  const Case& c = GetParam();
  std::mt19937 random(5);
  std::normal_distribution<float> normal;
  std::vector<float> input(kCount * (kUpdates + 1));
  for (auto& value : input) value = normal(random);
  const auto expected = run_torch(c, input);
  ASSERT_FALSE(HasFailure());

  const test::PluginComponent<OptimizerKind> component(DTRAIN_PLUGINS "/optimizer_" + c.plugin + ".so", c.plugin);
  const auto optimizer = component.make({}, c.options);
  std::vector<float> param(input.begin(), input.begin() + kCount);
  std::vector<std::vector<float>> slots(optimizer->slots().size(), std::vector<float>(kCount));
  std::vector<float*> pointers;
  for (auto& slot : slots) pointers.push_back(slot.data());
  const std::array<std::int64_t, 1> shape = {kCount};

  // Differences are relative to the largest value that the element has had: it may cross zero.
  std::vector<double> scale(kCount);
  for (std::size_t i = 0; i < kCount; ++i) scale[i] = std::abs(input[i]);
  double worst = 0;
  for (std::size_t u = 1; u <= kUpdates; ++u) {
    const UpdateScalars scalars{
        .lr = c.lr, .weight_decay = c.weight_decay, .grad_scale = 1, .update = static_cast<std::int64_t>(u)};
    optimizer->update(scalars, {.name = "weight",
                                .shape = shape,
                                .offset = 0,
                                .param = param,
                                .grad = std::span<const float>(input).subspan(u * kCount, kCount),
                                .slots = pointers});
    for (std::size_t i = 0; i < kCount; ++i) {
      const double reference = expected[(u - 1) * kCount + i];
      scale[i] = std::max(scale[i], std::abs(reference));
      worst = std::max(worst, std::abs(param[i] - reference) / scale[i]);
    }
  }
  EXPECT_LT(worst, 1e-6);
}

INSTANTIATE_TEST_SUITE_P(
    Torch, OptimizerParity,
    testing::Values(Case{"sgd_plain", "sgd", {}, 0.1, 0.01, "SGD", R"({"lr": 0.1, "weight_decay": 0.01})"},
                    Case{"sgd_momentum",
                         "sgd",
                         {{"momentum", 0.9}, {"dampening", 0.3}},
                         0.01,
                         0.1,
                         "SGD",
                         R"({"lr": 0.01, "weight_decay": 0.1, "momentum": 0.9, "dampening": 0.3})"},
                    Case{"sgd_nesterov",
                         "sgd",
                         {{"momentum", 0.9}, {"nesterov", true}},
                         0.01,
                         0,
                         "SGD",
                         R"({"lr": 0.01, "momentum": 0.9, "nesterov": true})"},
                    Case{"adamw_defaults", "adamw", {}, 0.001, 0.01, "AdamW", R"({"lr": 0.001, "weight_decay": 0.01})"},
                    Case{"adamw_gpt",
                         "adamw",
                         {{"beta1", 0.8}, {"beta2", 0.95}, {"epsilon", 1e-6}},
                         0.003,
                         0.1,
                         "AdamW",
                         R"({"lr": 0.003, "weight_decay": 0.1, "betas": [0.8, 0.95], "eps": 1e-6})"}),
    [](const auto& param) { return param.param.label; });

}  // namespace
}  // namespace dtrain
