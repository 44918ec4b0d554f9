// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "core/launch/host_program.h"
#include "core/worker/resume.h"
#include "core/worker/session.h"

namespace dtrain {

// The launcher's view of training. prepare() is given a TrainRequest as JSON.
class TrainingProgram final : public HostProgram {
 public:
  std::string prepare(const std::string& request_json, const std::string& run_dir, PrepareWatch& watch) override;
  int run_worker(const WorkerSeat& seat, AgentLink& link) override;

 private:
  std::unique_ptr<Session> session_;
  ResumePoint resume_;
};

}  // namespace dtrain
