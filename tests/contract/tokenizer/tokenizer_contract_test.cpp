// SPDX-License-Identifier: Apache-2.0
//
// What every tokenizer must do.
#include <dtrain/rng.h>
#include <dtrain/tokenizer.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "tests/contract/plugin_component.h"

namespace dtrain {
namespace {

class TokenizerContract : public testing::TestWithParam<std::string> {
 protected:
  test::PluginComponent<TokenizerKind> component_{DTRAIN_PLUGINS "/tokenizer_" + GetParam() + ".so", GetParam()};
  test::PluginComponent<TokenizerKind>::Pointer tokenizer_ = component_.make({});
};

std::vector<std::string> texts() {
  std::vector<std::string> out = {"", "a", "hello, world\n", "Grüße 東京 🙂", std::string("\0\x01\xff\xfe\0", 5)};
  std::string all;
  for (int i = 0; i < 256; ++i) all.push_back(static_cast<char>(i));
  out.push_back(all);
  rng::Stream stream(1, 2);
  for (int n = 1; n < 300; n += 37) {
    std::string text;
    for (int i = 0; i < n; ++i) text.push_back(static_cast<char>(stream.below(256)));
    out.push_back(text);
  }
  return out;
}

TEST_P(TokenizerContract, DecodeUndoesEncodeOnAnyBytes) {
  for (const auto& text : texts()) EXPECT_EQ(tokenizer_->decode(tokenizer_->encode(text)), text);
}

TEST_P(TokenizerContract, TokensAreInTheVocabulary) {
  ASSERT_GT(tokenizer_->vocab_size(), 0);
  for (const auto& text : texts()) {
    for (auto token : tokenizer_->encode(text)) {
      EXPECT_GE(token, 0);
      EXPECT_LT(token, tokenizer_->vocab_size());
    }
  }
}

TEST_P(TokenizerContract, EveryTokenDecodes) {
  for (std::int32_t token = 0; token < tokenizer_->vocab_size(); ++token) {
    EXPECT_NO_THROW(tokenizer_->decode(std::vector{token}));
  }
}

TEST_P(TokenizerContract, ForeignTokensAreRefused) {
  const auto end = static_cast<std::int32_t>(tokenizer_->vocab_size());
  for (std::int32_t token :
       {-1, end, std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max()}) {
    EXPECT_THROW(tokenizer_->decode(std::vector{token}), UserError) << token;
  }
}

TEST_P(TokenizerContract, MayBeUsedByThreadsAtOnce) {
  const auto all = texts();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (const auto& text : all) EXPECT_EQ(tokenizer_->decode(tokenizer_->encode(text)), text);
    });
  }
  for (auto& thread : threads) thread.join();
}

INSTANTIATE_TEST_SUITE_P(Tokenizers, TokenizerContract, testing::Values("bytes"),
                         [](const auto& test) { return test.param; });

TEST(BytesTokenizer, TokensAreTheBytes) {
  const test::PluginComponent<TokenizerKind> component(DTRAIN_PLUGINS "/tokenizer_bytes.so", "bytes");
  const auto bytes = component.make({});
  EXPECT_EQ(bytes->vocab_size(), 256);
  EXPECT_EQ(bytes->encode("A\xff"), (std::vector<std::int32_t>{65, 255}));
  try {
    bytes->decode(std::vector{65, 256});
    FAIL();
  } catch (const UserError& e) {
    EXPECT_EQ(e.message(), "tokenizer bytes: token 256 is not a byte; allowed are 0 to 255");
    EXPECT_EQ(e.hint(), "decode with the tokenizer that the run was trained with");
  }
}

}  // namespace
}  // namespace dtrain
