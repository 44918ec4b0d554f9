// SPDX-License-Identifier: Apache-2.0
#include "core/observe/metrics_log.h"

#include <cstdlib>
#include <fstream>
#include <iterator>

#include <gtest/gtest.h>

namespace dtrain {
namespace {

class MetricsLogTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "dtrain-metrics-XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string text() const {
    std::ifstream in(folder_ / "metrics.jsonl");
    return {std::istreambuf_iterator<char>(in), {}};
  }
  std::filesystem::path file() const { return folder_ / "metrics.jsonl"; }

  std::filesystem::path folder_;
};

constexpr const char* kStart = "{\"event\":\"start\",\"format\":1}\n";

TEST_F(MetricsLogTest, ResumeCutsLaterStepsAndATornLine) {
  {
    MetricsLog log(file(), -1);
    for (int step = 1; step <= 5; ++step) log.write("{\"step\":" + std::to_string(step) + "}");
  }
  std::ofstream(file(), std::ios::app) << "{\"step\":6,\"lo";
  {
    MetricsLog log(file(), 5);  // only the torn line goes
    log.write("{\"step\":6}");
  }
  EXPECT_EQ(text(), std::string(kStart) + "{\"step\":1}\n{\"step\":2}\n{\"step\":3}\n{\"step\":4}\n{\"step\":5}\n{\"step\":6}\n");
  {
    MetricsLog log(file(), 2);
    log.write("{\"step\":3}");
  }
  EXPECT_EQ(text(), std::string(kStart) + "{\"step\":1}\n{\"step\":2}\n{\"step\":3}\n");
}

TEST_F(MetricsLogTest, AFreshRunStartsEmpty) {
  std::ofstream(file()) << "{\"step\":9}\n";
  MetricsLog log(file(), -1);
  EXPECT_EQ(text(), kStart);
}

}  // namespace
}  // namespace dtrain
