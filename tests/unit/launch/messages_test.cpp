// SPDX-License-Identifier: Apache-2.0
#include "core/launch/messages.h"

#include <dtrain/error.h>
#include <gtest/gtest.h>

#include <csignal>

namespace dtrain {
namespace {

TEST(RankFailure, SaysWhoHowWhereAndWhat) {
  RankFailure failure{2, "node7", SIGKILL, "forward", 17, {}, "out of memory?"};
  EXPECT_EQ(failure.text(),
            "rank 2 on node7 was killed by signal 9 (SIGKILL) in phase forward, step 17; last words: out of memory?");
  failure = {0, "node7", 17 << 8, "join", -1, {}, ""};
  EXPECT_EQ(failure.text(), "rank 0 on node7 ended with exit code 17 in phase join");
  failure = {0, "node7", 1 << 8, "", -1, LastWords{LastWords::Kind::other, "bad", "", "", 1}, "unused"};
  EXPECT_EQ(failure.text(), "rank 0 on node7 ended with exit code 1; last words: bad");
}

LastWords words_of(const std::function<void()>& thrower) {
  try {
    thrower();
  } catch (...) {
    return last_words_of_current_exception();
  }
  return {};
}

TEST(LastWords, KeepWhatTheExceptionKnew) {
  const auto user = words_of([] { throw UserError("m", "h", {"f", 1, 2}, 4); });
  EXPECT_EQ(user.kind, LastWords::Kind::user);
  EXPECT_EQ(user.message, "m");
  EXPECT_EQ(user.hint, "h");
  EXPECT_EQ(user.place, "f:1:2");
  EXPECT_EQ(user.exit_code, 4);
  EXPECT_EQ(words_of([] { throw RecoverableError(RecoverableError::Kind::timeout, "t"); }).kind,
            LastWords::Kind::recoverable);
  EXPECT_EQ(words_of([] { DTRAIN_CHECK(1 == 2); }).kind, LastWords::Kind::invariant);
  EXPECT_EQ(words_of([] { throw std::runtime_error("r"); }).exit_code, 1);
  EXPECT_EQ(words_of([] { throw 7; }).message, "an exception that is not a std::exception");
}

TEST(Messages, SurviveTheWire) {
  Outcome outcome{1, "m", "h", "p", "/run", 15, RankFailure{3, "host", 9, "save", 8, LastWords{}, "l"}};
  outcome.failure->words->message = "not UTF-8: \xff";  // must not keep the outcome from arriving
  const auto back = decoded<Outcome>(encode(outcome));
  EXPECT_EQ(back.exit_code, 1);
  EXPECT_EQ(back.signal, 15);
  ASSERT_TRUE(back.failure.has_value());
  EXPECT_EQ(back.failure->rank, 3);
  EXPECT_EQ(back.failure->step, 8);
  EXPECT_TRUE(back.failure->words->message.starts_with("not UTF-8: "));

  RunRequest request;
  request.plan_json = "{\"a\": \"\\n\"}";
  request.grace_s = 0.1;
  request.detach = true;
  EXPECT_EQ(decoded<RunRequest>(encode(request)).plan_json, request.plan_json);
  EXPECT_EQ(decoded<RunRequest>(encode(request)).grace_s, 0.1);
  EXPECT_TRUE(decoded<RunRequest>(encode(request)).detach);
  EXPECT_THROW(decoded<RunRequest>("{"), InvariantError);
  EXPECT_THROW(decoded<RunRequest>("{}"), InvariantError);
}

}  // namespace
}  // namespace dtrain
