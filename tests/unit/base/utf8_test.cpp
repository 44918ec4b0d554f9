// SPDX-License-Identifier: Apache-2.0
#include "core/base/utf8.h"

#include <gtest/gtest.h>

namespace dtrain {
namespace {

TEST(Utf8, AcceptsEveryLength) {
  EXPECT_TRUE(is_utf8("a b-\u00e4\u8a66\U0001F600\x7f"));
}

TEST(Utf8, RefusesWhatTheStandardForbids) {
  for (const auto* text : {"\xe4", "\x80", "\xc0\xaf", "\xc3", "\xe0\x80\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80",
                           "\xf5\x80\x80\x80", "\xff", "\xe8\xa9"})
    EXPECT_FALSE(is_utf8(text)) << text;
}

}  // namespace
}  // namespace dtrain
