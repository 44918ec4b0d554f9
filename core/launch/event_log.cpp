// SPDX-License-Identifier: Apache-2.0
#include "core/launch/event_log.h"

#include <nlohmann/json.hpp>

#include "core/base/log.h"

namespace dtrain {

bool EventLog::add(const std::string& json) {
  if (!file_.open()) return false;
  const auto fields = nlohmann::ordered_json::parse(json, nullptr, false);
  if (!fields.is_object()) return false;
  nlohmann::ordered_json line = {{"format", kFormat}, {"time", utc_now()}};
  line.update(fields);
  return file_.append(line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

}  // namespace dtrain
