// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "core/base/channel.h"
#include "core/launch/messages.h"
#include "core/launch/registry.h"

namespace dtrain {

// The agent's socket for `dtrain ps|status|stop`: answers a status frame, passes a stop on.
class ControlPort {
 public:
  struct Handlers {
    std::function<std::string()> status;
    std::function<void(int signal)> stop;
  };

  ControlPort(EventLoop& loop, const std::filesystem::path& socket, Handlers handlers);  // std::system_error
  ~ControlPort();

 private:
  void on_connect();
  void on_frame(Channel& connection, const Frame& frame);

  EventLoop& loop_;
  Handlers handlers_;
  UniqueFd listener_;
  std::map<int, std::unique_ptr<Channel>> connections_;
};

// The other side. std::nullopt: the run ended, or did not answer within `timeout`.
std::optional<RunStatus> ask_status(const RegisteredRun& run, std::chrono::milliseconds timeout);

// Asks for a coordinated stop and waits until the run has ended. False: still running after `timeout`.
bool ask_stop(const RegisteredRun& run, int signal, std::chrono::milliseconds timeout);

}  // namespace dtrain
