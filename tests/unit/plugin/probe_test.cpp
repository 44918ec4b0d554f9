// SPDX-License-Identifier: Apache-2.0
#include "core/plugin/probe.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace dtrain {
namespace {

using Result = ProbeStep::Result;

PluginInfo plugin_of(const std::string& name) {
  return read_plugin_note(std::filesystem::path(DTRAIN_FIXTURE_PLUGINS) / name / (name + ".so")).value();
}

// The failed steps as "what: detail".
std::vector<std::string> failures(const std::vector<ProbeStep>& steps) {
  std::vector<std::string> out;
  for (const auto& step : steps) {
    if (step.result == Result::failed) out.push_back(step.what + ": " + step.detail);
  }
  return out;
}

constexpr const char* kLoads = "loads; the entry agrees with the note; init returns";

TEST(Probe, AGoodPluginPassesEveryStep) {
  const auto steps = probe_plugin(plugin_of("good"));
  EXPECT_EQ(failures(steps), std::vector<std::string>());
  EXPECT_TRUE(all_passed(steps));
  std::vector<std::string> names;
  for (const auto& step : steps) names.push_back(step.what);
  EXPECT_EQ(names, (std::vector<std::string>{
                       "ABI tags are those of this dtrain", "schedule 'good': defaults are inside their own limits",
                       "schedule 'chosen': defaults are inside their own limits",
                       "optimizer 'good': defaults are inside their own limits", kLoads,
                       "schedule 'good': made with its defaults, tried, destroyed",
                       "schedule 'chosen': made with its defaults, tried, destroyed",
                       "optimizer 'good': made with its defaults, tried, destroyed", "shutdown returns"}));
}

TEST(Probe, ACrashIsNamedWithItsSignal) {
  EXPECT_EQ(failures(probe_plugin(plugin_of("crash_on_load"))),
            (std::vector<std::string>{std::string(kLoads) + ": the process was killed by signal 11 (SIGSEGV)"}));
  EXPECT_EQ(failures(probe_plugin(plugin_of("crash_in_init"))),
            (std::vector<std::string>{std::string(kLoads) + ": the process was killed by signal 6 (SIGABRT)"}));
}

TEST(Probe, AHangEndsWithTheLimit) {
  EXPECT_EQ(failures(probe_plugin(plugin_of("hanging_init"), host_tags(), std::chrono::seconds(1))),
            (std::vector<std::string>{std::string(kLoads) + ": it took longer than 1 s"}));
}

TEST(Probe, APluginOfAnotherDtrainIsNotLoaded) {
  const auto steps = probe_plugin(plugin_of("other_interface"));
  ASSERT_EQ(failures(steps).size(), 1u);
  EXPECT_EQ(steps.front().what, "ABI tags are those of this dtrain");
  EXPECT_EQ(steps.back().what, kLoads);
  EXPECT_EQ(steps.back().result, Result::skipped);
  EXPECT_EQ(steps.back().detail, "the ABI tags differ");
}

TEST(Probe, DefaultsOutsideTheirLimits) {
  EXPECT_EQ(failures(probe_plugin(plugin_of("bad_default"))),
            (std::vector<std::string>{
                "schedule 'bad_default': defaults are inside their own limits: power: found -1.0, allowed "
                "above 0; mode: found \"odd\", allowed fast, exact"}));
}

TEST(Probe, WhatTheLoaderSaysIsTheDetail) {
  const auto plugin = plugin_of("throwing_init");
  EXPECT_EQ(failures(probe_plugin(plugin)),
            (std::vector<std::string>{std::string(kLoads) + ": plugin '" + plugin.path.string() +
                                      "': its init function failed: the licence server does not answer"}));
}

TEST(Probe, ABrokenContractIsFound) {
  const auto found = failures(probe_plugin(plugin_of("broken_contract")));
  EXPECT_EQ(found,
            (std::vector<std::string>{
                "schedule 'negative': made with its defaults, tried, destroyed: breaks its contract: factor(10) is "
                "-1.000000, expected a finite value of at least 0",
                "optimizer 'explosive': made with its defaults, tried, destroyed: breaks its contract: update() made "
                "a parameter inf",
                "tokenizer 'careless': made with its defaults, tried, destroyed: breaks its contract: decode() of "
                "token -1 throws no UserError"}));
}

}  // namespace
}  // namespace dtrain
