// SPDX-License-Identifier: Apache-2.0
#include "tests/contract/store/store_contract.h"

#include <gmock/gmock.h>

#include <atomic>
#include <thread>

namespace dtrain {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST_P(StoreContract, GivesBackWhatWasWritten) {
  std::string big(3 << 20, '\0');
  for (std::size_t i = 0; i < big.size(); ++i) big[i] = static_cast<char>(i * 2654435761u >> 24);
  put("a/big", big);
  put("a/empty", "");
  put("top", "x");
  EXPECT_EQ(get("a/big"), big);
  EXPECT_EQ(get("a/empty"), "");
  EXPECT_EQ(get("top"), "x");
  const auto object = store_->open("a/big");
  std::string part(1000, '\0');
  object->read(123456, std::as_writable_bytes(std::span(part)));
  EXPECT_EQ(part, big.substr(123456, 1000));
}

TEST_P(StoreContract, AppendsWrites) {
  const auto object = store_->create("a/b");
  for (const auto* text : {"one ", "", "two ", "three"}) object->write(bytes(text));
  object->finish();
  EXPECT_EQ(get("a/b"), "one two three");
}

TEST_P(StoreContract, UnfinishedObjectsDoNotExist) {
  {
    const auto object = store_->create("a/b");
    object->write(bytes("half"));
    EXPECT_FALSE(store_->exists("a/b"));
    unavailable([&] { store_->open("a/b"); });
  }
  EXPECT_THAT(keys(""), IsEmpty());
  put("a/b", "old");
  store_->create("a/b")->write(bytes("abandoned"));
  EXPECT_EQ(get("a/b"), "old");
}

TEST_P(StoreContract, ReplacesObjects) {
  put("a/b", "a long old text");
  put("a/b", "new");
  EXPECT_EQ(get("a/b"), "new");
}

TEST_P(StoreContract, ListsWhatIsBelowAFolder) {
  for (const auto* key : {"s-1/b", "s-1/a", "s-10/a", "s-1/deep/er/c", "s-1.partial-x/a", "top"}) put(key, key);
  EXPECT_THAT(keys("s-1"), ElementsAre("s-1/a", "s-1/b", "s-1/deep/er/c"));
  EXPECT_THAT(keys("s-1/deep"), ElementsAre("s-1/deep/er/c"));
  EXPECT_THAT(keys("none"), IsEmpty());
  EXPECT_EQ(keys("").size(), 6u);
  EXPECT_EQ(store_->list("s-10").at(0).size, std::string("s-10/a").size());
}

TEST_P(StoreContract, MissingObjectsAreNamed) {
  EXPECT_FALSE(store_->exists("a/b"));
  EXPECT_THAT(unavailable([&] { store_->open("a/b"); }), HasSubstr("a/b"));
  put("a/b", "1234");
  const auto object = store_->open("a/b");
  std::string text(5, '\0');
  EXPECT_THAT(unavailable([&] { object->read(0, std::as_writable_bytes(std::span(text))); }), HasSubstr("a/b"));
  EXPECT_THAT(unavailable([&] { object->read(9, std::as_writable_bytes(std::span(text))); }), HasSubstr("a/b"));
}

TEST_P(StoreContract, RemovesAFolderOrAnObject) {
  for (const auto* key : {"s-1/a", "s-1/d/b", "s-10/a", "s-2/a", "s-2/b"}) put(key, key);
  store_->remove("s-1");
  store_->remove("s-2/a");
  store_->remove("missing");
  store_->remove("missing/too");
  EXPECT_THAT(keys(""), ElementsAre("s-10/a", "s-2/b"));
  put("s-1/a", "again");
  EXPECT_THAT(keys("s-1"), ElementsAre("s-1/a"));
}

TEST_P(StoreContract, PublishesWhollyOrNotAtAll) {
  put("s.partial/a", "1");
  put("s.partial/d/b", "2");
  store_->publish("s.partial", "s");
  EXPECT_THAT(keys(""), ElementsAre("s/a", "s/d/b"));
  EXPECT_EQ(get("s/d/b"), "2");
}

TEST_P(StoreContract, PublishReplacesNothing) {
  put("s/a", "old");
  put("s.partial/a", "new");
  EXPECT_THAT(unavailable([&] { store_->publish("s.partial", "s"); }), HasSubstr("s"));
  EXPECT_EQ(get("s/a"), "old");
  EXPECT_EQ(get("s.partial/a"), "new");
  unavailable([&] { store_->publish("missing", "t"); });
  EXPECT_THAT(keys("t"), IsEmpty());
}

TEST_P(StoreContract, OtherProcessesSeeTheSame) {
  put("s.partial/a", "1");
  const auto other = open_();
  EXPECT_TRUE(other->exists("s.partial/a"));
  other->publish("s.partial", "s");
  EXPECT_EQ(get("s/a"), "1");
}

TEST_P(StoreContract, AReaderKeepsItsObject) {
  put("s/a", "abcd");
  const auto object = store_->open("s/a");
  store_->remove("s");
  std::string text(4, '\0');
  try {
    object->read(0, std::as_writable_bytes(std::span(text)));
    EXPECT_EQ(text, "abcd");
  } catch (const RecoverableError&) {  // gone is honest too; other bytes would not be
  }
}

TEST_P(StoreContract, ThreadsWriteAndReadDifferentKeys) {
  std::atomic<int> right{0};
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 10; ++i) {
        const auto key = "p/rank-" + std::to_string(t), text = std::to_string(t * 100 + i);
        put(key, text);
        if (get(key) == text) ++right;
      }
    });
  }
  threads.clear();
  EXPECT_EQ(right, 40);
  EXPECT_EQ(keys("p").size(), 4u);
}

}  // namespace
}  // namespace dtrain
