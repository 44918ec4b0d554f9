// SPDX-License-Identifier: Apache-2.0
//
// What every Store promises (dtrain/store.h), as tests. An implementation instantiates the suite with a factory:
//   INSTANTIATE_TEST_SUITE_P(Local, StoreContract, testing::Values(StoreFactory{...}));
#pragma once

#include <dtrain/error.h>
#include <dtrain/store.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dtrain {

struct StoreFactory {
  // A Store at an empty place of its own. All stores made by one call of `open` see the same objects, as several
  // processes would; the place goes with the last of them.
  std::function<std::function<std::shared_ptr<Store>()>()> place;
};

class StoreContract : public testing::TestWithParam<StoreFactory> {
 protected:
  static std::span<const std::byte> bytes(std::string_view text) { return std::as_bytes(std::span(text)); }

  void put(const std::string& key, std::string_view text) {
    const auto object = store_->create(key);
    object->write(bytes(text));
    object->finish();
  }
  std::string get(const std::string& key) {
    const auto object = store_->open(key);
    std::string text(object->size(), '\0');
    object->read(0, std::as_writable_bytes(std::span(text)));
    return text;
  }
  std::vector<std::string> keys(const std::string& prefix) {
    std::vector<std::string> out;
    for (const auto& object : store_->list(prefix)) out.push_back(object.key);
    return out;
  }
  template <class Body>
  std::string unavailable(Body&& body) {
    try {
      body();
    } catch (const RecoverableError& e) {
      EXPECT_EQ(e.kind(), RecoverableError::Kind::store_unavailable);
      return e.what();
    }
    ADD_FAILURE() << "nothing was thrown";
    return {};
  }

  std::function<std::shared_ptr<Store>()> open_ = GetParam().place();
  std::shared_ptr<Store> store_ = open_();
};

}  // namespace dtrain
