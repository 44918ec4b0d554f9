// SPDX-License-Identifier: Apache-2.0
#include "core/observe/progress.h"

#include <gtest/gtest.h>

#include "core/observe/text_table.h"

namespace dtrain {
namespace {

using namespace std::chrono_literals;

std::string report(int step, const std::string& more = "") {
  return R"({"event":"step","step":)" + std::to_string(step) + R"(,"loss":2.34567,"samples":)" +
         std::to_string(step * 32) + R"(,"world":2)" + more + "}";
}

TEST(Progress, SaysWhereTheRunIsAndHowLongItTakes) {
  Progress progress(500, 0, "samples");
  const Progress::Clock::time_point t0{};
  EXPECT_EQ(progress.text(), "");
  progress.add(report(100), t0);
  EXPECT_EQ(progress.text(), "step 100/500  loss 2.3457  2 ranks");
  progress.add(report(120), t0 + 10s);  // 2 steps and 64 samples a second
  EXPECT_EQ(progress.text(), "step 120/500  loss 2.3457  64 samples/s  ETA 3m10s  2 ranks");
}

TEST(Progress, TakesTheReportedRate) {
  Progress progress(0, 0, "tokens");
  progress.add(report(7, R"(,"tokens_per_s":12345.6)"), {});
  EXPECT_EQ(progress.text(), "step 7  loss 2.3457  12346 tokens/s  2 ranks");
  progress.add(R"({"step":8,"loss":null})", {});
  EXPECT_EQ(progress.text(), "step 8  loss not finite");
  progress.add("not json", {});
  EXPECT_EQ(progress.text(), "step 8  loss not finite");
}

TEST(Progress, LinesAreDueEachTwentiethAndEveryTenSeconds) {
  Progress progress(100, 0, "samples");
  const Progress::Clock::time_point t0{};
  int due = 0;
  for (int step = 1; step <= 100; ++step) {
    progress.add(report(step), t0);
    due += progress.line_due(t0);
  }
  EXPECT_EQ(due, 21);  // the first, and 5, 10 ... 100
  EXPECT_FALSE(progress.line_due(t0 + 9s));
  Progress slow(1'000'000, 0, "samples");
  slow.add(report(1), t0);
  EXPECT_TRUE(slow.line_due(t0));
  slow.add(report(2), t0 + 9s);
  EXPECT_FALSE(slow.line_due(t0 + 9s));
  slow.add(report(3), t0 + 10s);
  EXPECT_TRUE(slow.line_due(t0 + 10s));
}

TEST(ShortDuration, HasTwoUnits) {
  EXPECT_EQ(short_duration(59s), "59s");
  EXPECT_EQ(short_duration(80s), "1m20s");
  EXPECT_EQ(short_duration(2h + 3min + 9s), "2h03m");
  EXPECT_EQ(short_duration(76h), "3d04h");
}

TEST(TextTable, AlignsAndFlattens) {
  EXPECT_EQ(text_table(settings_rows(R"({"settings": [["model", "gpt"], ["lr", 0.001]], "x": 1})")),
            "  model  gpt\n  lr     0.001\n");
  EXPECT_TRUE(settings_rows("[]").empty());
  EXPECT_EQ(event_line(R"({"event":"evaluation","step":50,"metrics":{"loss":2.3000001,"accuracy":0.5}})"),
            "evaluation  step 50  metrics.loss 2.3  metrics.accuracy 0.5\n");
  EXPECT_EQ(text_table(json_rows(R"({"event":"summary","steps":3,"how":"done"})")), "  steps  3\n  how    done\n");
}

}  // namespace
}  // namespace dtrain
