// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dtrain/error.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>

namespace dtrain::test {

// The whole message, the whole hint and the exit code of the UserError that `call` throws.
inline void expect_error(const std::function<void()>& call, const std::string& message, const std::string& hint,
                         int exit_code = 2) {
  try {
    call();
    ADD_FAILURE() << "nothing was thrown; expected: " << message;
  } catch (const UserError& e) {
    EXPECT_EQ(e.message(), message);
    EXPECT_EQ(e.hint(), hint);
    EXPECT_EQ(e.exit_code(), exit_code);
  }
}

}  // namespace dtrain::test
