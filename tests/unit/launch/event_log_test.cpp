// SPDX-License-Identifier: Apache-2.0
#include "core/launch/event_log.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <fstream>
#include <nlohmann/json.hpp>

namespace dtrain {
namespace {

TEST(EventLog, AddsFormatAndTimeAndCutsATornLine) {
  std::string name = (std::filesystem::temp_directory_path() / "dtrain-events-XXXXXX").string();
  const std::filesystem::path dir = ::mkdtemp(name.data());
  std::ofstream(dir / "events.jsonl") << "{\"event\":\"old\"}\n{\"event\":\"to";
  {
    EventLog log(dir);
    EXPECT_TRUE(log.add(R"({"event": "save", "step": 3})"));
    EXPECT_FALSE(log.add("[1]"));
    EXPECT_FALSE(log.add("{\"event\": "));
  }
  std::ifstream in(dir / "events.jsonl");
  std::string old, line, more;
  std::getline(in, old);
  std::getline(in, line);
  EXPECT_EQ(old, "{\"event\":\"old\"}");
  EXPECT_THAT(line,
              ::testing::MatchesRegex(R"(\{"format":1,"time":"[-0-9]{10}T[0-9:.]{12}Z","event":"save","step":3\})"));
  EXPECT_FALSE(std::getline(in, more));
  std::filesystem::remove_all(dir);
}

}  // namespace
}  // namespace dtrain
