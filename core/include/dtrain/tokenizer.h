// SPDX-License-Identifier: Apache-2.0
//
// Text to token ids and back. Independent of libtorch.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <dtrain/abi.h>
#include <dtrain/plugin.h>

namespace dtrain {

struct TokenizerContext {};

// All methods: any thread, no state changes.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;
  virtual std::int64_t vocab_size() const = 0;
  virtual std::vector<std::int32_t> encode(std::string_view text) const = 0;
  // Ids outside [0, vocab_size) throw UserError.
  virtual std::string decode(std::span<const std::int32_t> tokens) const = 0;
};

struct TokenizerKind {
  static constexpr std::string_view name = "tokenizer";
  using Interface = Tokenizer;
  using Context = TokenizerContext;
  static constexpr std::string tag() { return abi::tag(DTRAIN_ABI_HASH_TOKENIZER); }
};

template <class T, class Options = NoOptions>
constexpr ComponentDeclaration tokenizer(std::string_view name) {
  return component<TokenizerKind, T, Options>(name);
}

}  // namespace dtrain
