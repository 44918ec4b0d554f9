// SPDX-License-Identifier: Apache-2.0
//
// Text files for next-token prediction. All files, one after the other, become one row of tokens; sample i is the
// window of seq_len tokens from i * seq_len on ("input") and the same window one token later ("target"). Windows do not
// overlap; a rest that fills no window is left out. eval_fraction divides the windows as eval_split.h says.
#include <dtrain/data.h>
#include <dtrain/eval_split.h>

#include <algorithm>

#include "file_list.h"
#include "mapped_file.h"
#include "token_array.h"

namespace {

namespace dt = dtrain;

struct Options {
  std::vector<std::string> path;

  constexpr void describe(dt::Schema& s) {
    s.identity("path", path, dt::required().path(), "files, folders (searched recursively) and globs");
  }
};

class Text final : public dt::DataSet {
 public:
  Text(const dt::DataContext& context, const Options& options)
      : tokens_(load(context, options)),
        seq_len_(context.seq_len),
        split_(windows(tokens_.size(), context.seq_len), context.eval_fraction, context.split),
        info_{.fields = {{.name = "input", .type = dt::DType::i32, .shape = {context.seq_len}},
                         {.name = "target", .type = dt::DType::i32, .shape = {context.seq_len}}},
              .vocab_size = context.tokenizer->vocab_size(),
              .seq_len = context.seq_len} {}

  const dt::DataInfo& info() const override { return info_; }
  std::int64_t size() const override { return split_.size(); }

  void read(std::int64_t index, dt::rng::Stream&, std::span<const std::span<std::byte>> out) const override {
    const auto first = split_.at(index) * seq_len_;
    tokens_.copy(first, out[0]);
    tokens_.copy(first + 1, out[1]);
  }

 private:
  static TokenArray load(const dt::DataContext& context, const Options& options) {
    if (context.tokenizer == nullptr) {
      throw dt::UserError("data text: the recipe has no tokenizer", "add [tokenizer] kind = \"bytes\"");
    }
    if (context.seq_len < 1) {
      throw dt::UserError("data text: the recipe has no data.seq_len", "set data.seq_len, the tokens of one sample");
    }
    if (options.path.empty()) throw dt::UserError("data text: data.path names no file", "name files, folders or globs");
    const auto vocab = context.tokenizer->vocab_size();
    TokenArray tokens(vocab);
    for (const auto& path : list_files(options.path)) {
      const MappedFile file(path);
      const auto more = context.tokenizer->encode(file.text());
      const auto bad = std::find_if(more.begin(), more.end(), [&](auto t) { return t < 0 || t >= vocab; });
      DTRAIN_CHECK(bad == more.end(), "the tokenizer made token " + std::to_string(*bad) + " of " + path);
      tokens.append(more);
    }
    return tokens;
  }

  static std::int64_t windows(std::int64_t tokens, std::int64_t seq_len) {
    if (tokens < seq_len + 1) {
      throw dt::UserError(
          "data text: " + std::to_string(tokens) + " tokens in all files together; one sample of data.seq_len = " +
              std::to_string(seq_len) + " needs " + std::to_string(seq_len + 1),
          tokens == 0 ? "the files of data.path are empty" : "add text to data.path, or set a smaller data.seq_len");
    }
    return (tokens - 1) / seq_len;
  }

  TokenArray tokens_;
  std::int64_t seq_len_;
  dt::EvalSplit split_;
  dt::DataInfo info_;
};

}  // namespace

DTRAIN_PLUGIN("text", "0.1.0", dt::data<Text, Options>("text"))
