// SPDX-License-Identifier: Apache-2.0
#include "core/base/cpu_budget.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

namespace dtrain {
namespace {

namespace fs = std::filesystem;

class CpuBudgetTest : public testing::Test {
 protected:
  CpuBudgetTest() : root_(fs::temp_directory_path() / ("dtrain-cpu-budget-" + std::to_string(::getpid()))) {
    fs::create_directories(root_);
  }
  ~CpuBudgetTest() override { fs::remove_all(root_); }

  void write(const fs::path& file, const std::string& text) {
    fs::create_directories((root_ / file).parent_path());
    std::ofstream(root_ / file) << text;
  }

  fs::path root_;
};

TEST_F(CpuBudgetTest, NoGroupsMeansNoQuota) {
  const auto budget = cpu_budget(root_);
  EXPECT_EQ(budget.quota, std::nullopt);
  EXPECT_GE(budget.affinity, 1);
  EXPECT_GE(budget.online, budget.affinity);
  EXPECT_EQ(budget.usable(), budget.affinity);
}

TEST_F(CpuBudgetTest, VersionTwoTakesTheTightestOfTheGroupAndThoseAbove) {
  write("proc/self/cgroup", "0::/outer/inner\n");
  write("sys/fs/cgroup/cpu.max", "max 100000\n");
  write("sys/fs/cgroup/outer/cpu.max", "150000 100000\n");
  write("sys/fs/cgroup/outer/inner/cpu.max", "400000 100000\n");
  EXPECT_EQ(cpu_budget(root_).quota, 1.5);
}

TEST_F(CpuBudgetTest, VersionTwoWithoutALimit) {
  write("proc/self/cgroup", "0::/\n");
  write("sys/fs/cgroup/cpu.max", "max 100000\n");
  EXPECT_EQ(cpu_budget(root_).quota, std::nullopt);
}

TEST_F(CpuBudgetTest, VersionOne) {
  write("proc/self/cgroup", "4:memory:/a\n2:cpu,cpuacct:/docker/x\n");
  write("sys/fs/cgroup/cpu,cpuacct/docker/x/cpu.cfs_quota_us", "200000\n");
  write("sys/fs/cgroup/cpu,cpuacct/docker/x/cpu.cfs_period_us", "100000\n");
  write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
  write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(cpu_budget(root_).quota, 2.0);
}

TEST(CpuBudgetUsable, IsBoundByMaskAndQuotaAndNeverZero) {
  EXPECT_EQ((CpuBudget{.online = 8, .affinity = 4, .quota = {}}.usable()), 4);
  EXPECT_EQ((CpuBudget{.online = 8, .affinity = 4, .quota = 2.5}.usable()), 2);
  EXPECT_EQ((CpuBudget{.online = 8, .affinity = 4, .quota = 0.3}.usable()), 1);
  EXPECT_EQ((CpuBudget{.online = 8, .affinity = 2, .quota = 6.0}.usable()), 2);
}

TEST_F(CpuBudgetTest, SeesTheAffinityMask) {
  std::thread([&] {  // the mask is the thread's own
    cpu_set_t all, one;
    ASSERT_EQ(::sched_getaffinity(0, sizeof all, &all), 0);
    CPU_ZERO(&one);
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (CPU_ISSET(cpu, &all)) {
        CPU_SET(cpu, &one);
        break;
      }
    }
    ASSERT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
    EXPECT_EQ(cpu_budget(root_).affinity, 1);
  })
      .join();
}

}  // namespace
}  // namespace dtrain
