// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "core/launch/run_view.h"
#include "core/observe/console.h"
#include "core/observe/progress.h"

namespace dtrain {

// A run as its user sees it: the table of settings, the ranks' log lines, progress as one live line on a terminal and
// as plain lines elsewhere, evaluations and saves, the summary.
class TerminalView final : public RunView {
 public:
  explicit TerminalView(Console& console) : console_(console) {}

  void note(std::string_view text) override;
  void log(std::string_view lines) override { console_.lines(lines); }
  void ready(const std::string& settings_json) override;
  void started(const Started& started) override;
  void report(const std::string& json) override;
  int blocked_output() const override { return console_.blocked(); }
  void continue_output() override { console_.pump(); }

  void finish();  // nothing more comes: the live line shows the newest step and stays
  const std::string& summary() const { return summary_; }      // JSON; empty when there was none
  const std::string& last_step() const { return last_step_; }  // JSON; empty when there was none

 private:
  void step(const std::string& json);

  Console& console_;
  std::optional<Progress> progress_;
  Progress::Clock::time_point drawn_{};
  std::string summary_;
  std::string last_step_;
};

}  // namespace dtrain
