// SPDX-License-Identifier: Apache-2.0
//
// Runs of the fake dtrain, and what is left of them.
#pragma once

#include <gtest/gtest.h>
#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/launch/messages.h"

namespace dtrain::testing {

using namespace std::chrono_literals;

struct RunOptions {
  std::string plan = "{}";
  std::string run_dir{};  // empty: a new one
  int ranks = 3;
  double grace_s = 20;
  std::string mode{};
  std::map<std::string, std::string> environment{};
};

// One fake run: started by the constructor, its whole process tree killed by the destructor.
class FakeRun {
 public:
  FakeRun(const std::filesystem::path& cwd, const RunOptions& options);
  FakeRun(const FakeRun&) = delete;
  FakeRun& operator=(const FakeRun&) = delete;
  ~FakeRun();

  pid_t client() const { return client_; }
  pid_t agent();  // waits until the run has started
  pid_t host();
  std::vector<pid_t> workers();  // by rank
  std::string run_dir();

  // Reads standard error until it has `text`; fails the test after `timeout`.
  bool wait_for(std::string_view text, std::chrono::milliseconds timeout = 20s);
  const std::string& output() const { return output_; }

  // Reads to the end, waits for the client. -1: still there after `timeout`. A death by signal n is 1000 + n.
  int wait(std::chrono::milliseconds timeout = 20s);
  Outcome outcome() const;
  void signal(int number) const;

  // All processes of this run that exist, zombies included.
  std::vector<pid_t> processes() const;
  bool gone_within(std::chrono::milliseconds timeout) const;

 private:
  bool read_some(std::chrono::milliseconds timeout);
  nlohmann::json membership();

  std::string id_;
  pid_t client_ = 0;
  int stderr_ = -1;
  std::string output_;
  std::optional<int> status_;
};

class LaunchTest : public ::testing::Test {
 protected:
  LaunchTest();
  ~LaunchTest() override;

  std::filesystem::path dir_;  // own temporary folder
};

std::string read_file(const std::filesystem::path& path);
std::vector<nlohmann::json> events_of(const std::filesystem::path& run_dir, std::string_view kind);
std::vector<pid_t> zombies_of(pid_t parent);

}  // namespace dtrain::testing
