// SPDX-License-Identifier: Apache-2.0
//
// What the command line asks of a run beyond its plan. The launcher passes it on as text.
#pragma once

#include <string>

#include "core/plan/plan.h"

namespace dtrain {

struct TrainRequest {
  Plan plan;
  std::string resume = "auto";  // "auto", "never", or the path of a checkpoint or run directory
  bool allow_drift = false;     // a resume may change trajectory fields
};

std::string to_json(const TrainRequest& request);
TrainRequest train_request_from_json(const std::string& text);

}  // namespace dtrain
