// SPDX-License-Identifier: Apache-2.0
#include "core/launch/rendezvous_store.h"

#include <dtrain/error.h>
#include <gmock/gmock.h>

namespace dtrain {
namespace {

using ::testing::ElementsAre;

TEST(RendezvousStore, AnswersBeforeAndAfterTheKeyIsSet) {
  RendezvousStore store;
  std::vector<std::string> answers;
  const auto answer = [&](const std::string& value) { answers.push_back(value); };
  store.get("k", answer);
  store.get("k", answer);
  store.get("other", answer);
  EXPECT_TRUE(answers.empty());
  store.set("k", "v");
  EXPECT_THAT(answers, ElementsAre("v", "v"));
  store.get("k", answer);
  store.set("k", "w");
  store.get("k", answer);
  EXPECT_THAT(answers, ElementsAre("v", "v", "v", "w"));
}

TEST(RendezvousMessages, KeepBytes) {
  const std::string value("\0\xff\n", 3);
  EXPECT_EQ(decode_set(encode_set("key", value)), std::pair(std::string("key"), value));
  EXPECT_EQ(decode_set(encode_set("", "")), std::pair(std::string(), std::string()));
  EXPECT_EQ(decode_tagged(encode_tagged(~0ull, value)), std::pair(~std::uint64_t{0}, value));
  EXPECT_THROW(decode_set("short"), InvariantError);
  EXPECT_THROW(decode_set(encode_tagged(100, "too short")), InvariantError);
}

}  // namespace
}  // namespace dtrain
