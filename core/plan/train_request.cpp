// SPDX-License-Identifier: Apache-2.0
#include "core/plan/train_request.h"

#include <nlohmann/json.hpp>

namespace dtrain {

std::string to_json(const TrainRequest& request) {
  return nlohmann::json{
      {"plan", to_json(request.plan)}, {"resume", request.resume}, {"allow_drift", request.allow_drift}}
      .dump();
}

TrainRequest train_request_from_json(const std::string& text) {
  const auto json = nlohmann::json::parse(text);
  return {plan_from_json(json.at("plan").get<std::string>()), json.at("resume").get<std::string>(),
          json.at("allow_drift").get<bool>()};
}

}  // namespace dtrain
