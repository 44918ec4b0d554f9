// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>

namespace dtrain {

// How far a run is, from its step reports: JSON objects with step (finished steps count from 1), loss, tokens and
// samples (so far in this run), tokens_per_s, world.
class Progress {
 public:
  using Clock = std::chrono::steady_clock;

  // total_steps 0: not known. unit: "tokens" or "samples".
  Progress(std::int64_t total_steps, std::int64_t start_step, std::string unit);

  void add(const std::string& step_report, Clock::time_point now);

  // "step 120/500  loss 2.3456  12345 tokens/s  ETA 1m20s  2 ranks". Empty before the first report.
  std::string text() const;

  // Whether a plain line is due: the first and the last step, each twentieth of the run, and every 10 s. Says so once.
  bool line_due(Clock::time_point now);

 private:
  struct Sample {
    Clock::time_point time;
    std::int64_t step;
    double units;
  };

  double steps_per_second() const;
  double units_per_second() const;

  std::int64_t total_;
  std::int64_t start_;
  std::string unit_;
  std::deque<Sample> window_;  // the newest 20 s
  std::int64_t step_ = -1;
  std::optional<double> loss_;
  double rate_ = 0;  // units per second as reported; 0: not reported
  std::int64_t world_ = 0;
  std::int64_t next_line_step_ = 0;
  std::optional<Clock::time_point> last_line_;
};

// "59s", "1m20s", "2h03m", "3d04h".
std::string short_duration(std::chrono::seconds time);

}  // namespace dtrain
