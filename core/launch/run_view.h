// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "core/launch/messages.h"

namespace dtrain {

// What watches a run on the user's side. Called on the thread that runs the client (or the run, in process). Nothing
// here waits for the terminal: what it does not take is kept, and the client asks again.
class RunView {
 public:
  virtual ~RunView() = default;

  virtual void note(std::string_view text) = 0;              // one line about the run
  virtual void log(std::string_view lines) = 0;              // whole lines of the ranks, tagged
  virtual void ready(const std::string& settings_json) = 0;  // what HostProgram::prepare returned
  virtual void started(const Started& started) = 0;
  virtual void report(const std::string& json) = 0;  // of a rank: step, eval, save, summary ...

  // The descriptor that output waits for, -1 when everything is written. While it waits the client reads nothing more.
  virtual int blocked_output() const = 0;
  virtual void continue_output() = 0;
};

}  // namespace dtrain
