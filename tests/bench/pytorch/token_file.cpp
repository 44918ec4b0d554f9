// SPDX-License-Identifier: Apache-2.0
//
// A file of int32 tokens as a data set, so that a benchmark can give dtrain and another trainer the same numbers.
// Sample i is the window of seq_len tokens from i * seq_len on ("input") and the same window one token later
// ("target").
#include <dtrain/data.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>

namespace {

namespace dt = dtrain;

struct Options {
  std::string path;
  std::int64_t vocab_size = 256;

  constexpr void describe(dt::Schema& s) {
    s.identity("path", path, dt::required().path(), "file of little-endian int32 tokens");
    s.identity("vocab_size", vocab_size, dt::range(1, 1 << 24), "tokens are in [0, vocab_size)");
  }
};

class TokenFile final : public dt::DataSet {
 public:
  TokenFile(const dt::DataContext& context, const Options& options) : seq_len_(context.seq_len) {
    std::ifstream in(options.path, std::ios::binary);
    if (!in) throw dt::UserError("data token_file: " + options.path + ": " + std::strerror(errno));
    const std::vector<char> bytes((std::istreambuf_iterator<char>(in)), {});
    tokens_.resize(bytes.size() / sizeof(std::int32_t));
    std::memcpy(tokens_.data(), bytes.data(), tokens_.size() * sizeof(std::int32_t));
    if (seq_len_ < 1 || size() < 1) {
      throw dt::UserError("data token_file: " + options.path + ": " + std::to_string(tokens_.size()) +
                          " tokens are too few for one sample of data.seq_len = " + std::to_string(seq_len_));
    }
    for (const auto token : tokens_) {
      if (token < 0 || token >= options.vocab_size) {
        throw dt::UserError("data token_file: " + options.path + ": token " + std::to_string(token) +
                            " is not below vocab_size = " + std::to_string(options.vocab_size));
      }
    }
    info_ = {.fields = {{.name = "input", .type = dt::DType::i32, .shape = {seq_len_}},
                        {.name = "target", .type = dt::DType::i32, .shape = {seq_len_}}},
             .vocab_size = options.vocab_size,
             .seq_len = seq_len_};
  }

  const dt::DataInfo& info() const override { return info_; }
  std::int64_t size() const override { return (static_cast<std::int64_t>(tokens_.size()) - 1) / seq_len_; }

  void read(std::int64_t index, dt::rng::Stream&, std::span<const std::span<std::byte>> out) const override {
    const auto* first = tokens_.data() + index * seq_len_;
    std::memcpy(out[0].data(), first, out[0].size());
    std::memcpy(out[1].data(), first + 1, out[1].size());
  }

 private:
  std::int64_t seq_len_;
  std::vector<std::int32_t> tokens_;
  dt::DataInfo info_;
};

}  // namespace

DTRAIN_PLUGIN("token_file", "0.1.0", dt::data<TokenFile, Options>("token_file"))
