// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/unique_fd.h"

namespace dtrain {

struct PhaseSnapshot {
  std::string phase;  // empty: the rank has not said anything yet
  std::int64_t step = -1;
  std::chrono::nanoseconds age{0};  // how long the rank has been in it
};

// What one rank is doing, in a page that it shares with its agent, so that saying so costs no system call and the last
// word of a rank killed by SIGKILL can still be read. Any thread of the rank writes; the agent reads.
class PhasePage {
 public:
  static PhasePage create();            // std::system_error
  explicit PhasePage(UniqueFd memory);  // maps what create() made in another process
  PhasePage(PhasePage&& other) noexcept;
  PhasePage& operator=(PhasePage&& other) noexcept;
  ~PhasePage();

  int fd() const { return memory_.get(); }
  void write(std::string_view phase, std::int64_t step) noexcept;
  PhaseSnapshot read() const;

 private:
  struct Layout;

  UniqueFd memory_;
  Layout* page_ = nullptr;
};

}  // namespace dtrain
