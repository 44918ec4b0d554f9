// SPDX-License-Identifier: Apache-2.0
//
// Every byte is a token: works on any text and language, needs no vocabulary file, loses nothing.
#include <dtrain/error.h>
#include <dtrain/tokenizer.h>

namespace {

namespace dt = dtrain;

struct Bytes final : dt::Tokenizer {
  Bytes(const dt::TokenizerContext&, const dt::NoOptions&) {}

  std::int64_t vocab_size() const override { return 256; }

  std::vector<std::int32_t> encode(std::string_view text) const override {
    std::vector<std::int32_t> tokens(text.size());
    for (std::size_t i = 0; i < text.size(); ++i) tokens[i] = static_cast<unsigned char>(text[i]);
    return tokens;
  }

  std::string decode(std::span<const std::int32_t> tokens) const override {
    std::string text(tokens.size(), '\0');
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      if (tokens[i] < 0 || tokens[i] > 255) {
        throw dt::UserError(
            "tokenizer bytes: token " + std::to_string(tokens[i]) + " is not a byte; allowed are 0 to 255",
            "decode with the tokenizer that the run was trained with");
      }
      text[i] = static_cast<char>(tokens[i]);
    }
    return text;
  }
};

}  // namespace

DTRAIN_PLUGIN("bytes", "0.1.0", dt::tokenizer<Bytes>("bytes"))
