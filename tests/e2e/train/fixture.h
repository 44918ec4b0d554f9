// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/command.h"
#include "tests/support/temp_folder.h"

namespace dtrain::testing_support {

// Trains recipes of the repository in a folder of the test's own.
class TrainTest : public testing::Test {
 protected:
  std::string recipe(const std::string& name) const { return std::string(DTRAIN_SOURCE) + "/recipes/" + name + ".toml"; }
  std::string path(const std::string& name) const { return (folder_.path() / name).string(); }

  std::vector<std::string> run_arguments(const std::string& recipe_file, const std::string& run, int ranks,
                                         const std::vector<std::string>& sets = {}) const {
    std::vector<std::string> arguments{"run", recipe_file, "--ranks", std::to_string(ranks), "--run-dir", path(run)};
    for (const auto& set : sets) arguments.insert(arguments.end(), {"--set", set});
    return arguments;
  }
  CommandResult train(const std::string& recipe_file, const std::string& run, int ranks,
                      const std::vector<std::string>& sets = {}, const std::string& fault = {}) const {
    return run_dtrain(folder_.path(), run_arguments(recipe_file, run, ranks, sets), {{"DTRAIN_FAULT", fault}});
  }
  std::string hash(const std::string& run) const {
    const auto result = run_dtrain(folder_.path(), {"ckpt", "hash", path(run)});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return result.out;
  }

  TempFolder folder_;
};

}  // namespace dtrain::testing_support
