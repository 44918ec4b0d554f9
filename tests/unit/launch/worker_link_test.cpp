// SPDX-License-Identifier: Apache-2.0
#include "core/launch/worker_link.h"

#include <dtrain/error.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <future>

#include "core/launch/rendezvous_store.h"

namespace dtrain {
namespace {

using namespace std::chrono_literals;

// The agent's end of a link, driven by the test.
class WorkerLinkTest : public ::testing::Test {
 protected:
  WorkerLinkTest() : page_(PhasePage::create()) {
    auto [agent, worker] = socket_pair();
    agent_ = FrameSocket(std::move(agent));
    link_ = std::make_unique<WorkerLink>(std::move(worker), PhasePage(UniqueFd(::dup(page_.fd()))));
  }

  Frame next(Message type) {
    auto frame = agent_.next(5s);
    if (!frame || frame->type != static_cast<std::uint8_t>(type)) {
      ADD_FAILURE() << "another message, or none";
      return {};
    }
    return std::move(*frame);
  }

  void say(Message type, std::string_view payload = "") { agent_.send(static_cast<std::uint8_t>(type), payload); }

  PhasePage page_;
  FrameSocket agent_;
  std::unique_ptr<WorkerLink> link_;
};

std::string text_of(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

TEST_F(WorkerLinkTest, SetsAndGets) {
  link_->set("k", std::as_bytes(std::span("abc", 3)));
  EXPECT_EQ(decode_set(next(Message::set).payload), std::pair(std::string("k"), std::string("abc")));
  auto value = std::async(std::launch::async, [&] { return text_of(link_->get("other", 5s)); });
  const auto [id, key] = decode_tagged(next(Message::get).payload);
  EXPECT_EQ(key, "other");
  say(Message::value, encode_tagged(id, "xyz"));
  EXPECT_EQ(value.get(), "xyz");
}

TEST_F(WorkerLinkTest, AGetThatNobodyAnswersTimesOut) {
  try {
    link_->get("k", 20ms);
    FAIL() << "answered";
  } catch (const RecoverableError& e) {
    EXPECT_EQ(e.kind(), RecoverableError::Kind::timeout);
    EXPECT_STREQ(e.what(), "rendezvous timed out: no rank has set 'k' within 20 ms");
  }
  // A late answer is nobody's, and harms nobody.
  const auto [id, key] = decode_tagged(next(Message::get).payload);
  say(Message::value, encode_tagged(id, "late"));
  auto value = std::async(std::launch::async, [&] { return text_of(link_->get("k", 5s)); });
  say(Message::value, encode_tagged(decode_tagged(next(Message::get).payload).first, "new"));
  EXPECT_EQ(value.get(), "new");
}

TEST_F(WorkerLinkTest, StopIsSeen) {
  EXPECT_FALSE(link_->stop_requested());
  say(Message::stop);
  while (!link_->stop_requested()) std::this_thread::yield();
}

TEST_F(WorkerLinkTest, AbortEndsWaitsAndCallsTheFunctionOnce) {
  int calls = 0;
  std::promise<void> called;
  link_->on_abort([&] {
    if (++calls == 1) called.set_value();
  });
  auto waiting = std::async(std::launch::async, [&] { return link_->get("k", 60s); });
  next(Message::get);
  say(Message::abort);
  say(Message::abort);
  called.get_future().wait();
  try {
    waiting.get();
    FAIL() << "answered";
  } catch (const RecoverableError& e) {
    EXPECT_EQ(e.kind(), RecoverableError::Kind::aborted);
  }
  bool late = false;
  link_->on_abort([&] { late = true; });
  EXPECT_TRUE(late);
  EXPECT_EQ(calls, 1);
}

TEST_F(WorkerLinkTest, AWithdrawnFunctionIsNotCalled) {
  bool called = false;
  link_->on_abort([&] { called = true; });
  link_->on_abort({});
  say(Message::abort);
  EXPECT_THROW(link_->get("k", 5s), RecoverableError);  // the abort has arrived
  EXPECT_FALSE(called);
}

TEST_F(WorkerLinkTest, ReportsAndLastWordsArriveInOrder) {
  link_->report("{\"a\":1}", false);
  link_->report("{\"b\":2}", true);
  link_->say_last_words({LastWords::Kind::user, "m", "h", "", 2});
  link_->flush();
  link_.reset();
  EXPECT_EQ(next(Message::report).payload, "{\"a\":1}");
  EXPECT_EQ(next(Message::event).payload, "{\"b\":2}");
  EXPECT_EQ(decoded<LastWords>(next(Message::last_words).payload).message, "m");
  EXPECT_FALSE(agent_.next(5s).has_value());
}

TEST_F(WorkerLinkTest, AnAgentThatDoesNotReadHoldsReportsUpInsteadOfEatingMemory) {
  auto reporting = std::async(std::launch::async, [&] {
    const std::string report(1 << 20, 'x');
    for (int i = 0; i < 64; ++i) link_->report(report, false);
  });
  EXPECT_EQ(reporting.wait_for(200ms), std::future_status::timeout);
  for (int i = 0; i < 64; ++i) next(Message::report);
  reporting.get();
}

TEST_F(WorkerLinkTest, PhaseIsInThePage) {
  link_->phase("reduce", 4);
  EXPECT_EQ(page_.read().phase, "reduce");
  EXPECT_EQ(page_.read().step, 4);
}

}  // namespace
}  // namespace dtrain
