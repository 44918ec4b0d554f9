// SPDX-License-Identifier: Apache-2.0
//
// A decoder-only transformer of GPT-2's shape (Radford et al., "Language Models are Unsupervised Multitask Learners",
// 2019): learned positions, LayerNorm before each sub-layer, GELU, dropout. Input: token ids [B,T] with T at most the
// data's seq_len; output: logits [B,T,V].
#include <dtrain/model.h>

#include <cmath>
#include <string>

namespace {

namespace dt = dtrain;

constexpr double kInitStd = 0.02;

struct Options {
  std::int64_t num_layers = 6;
  std::int64_t hidden_size = 256;
  std::int64_t num_heads = 8;
  std::int64_t ffn_multiple = 4;
  double dropout = 0;
  bool tied_head = true;

  constexpr void describe(dt::Schema& s) {
    s.identity("num_layers", num_layers, dt::range(1, 512), "transformer blocks");
    s.identity("hidden_size", hidden_size, dt::range(1, 65536), "features of a token; a multiple of num_heads");
    s.identity("num_heads", num_heads, dt::range(1, 1024), "attention heads of a block");
    s.identity("ffn_multiple", ffn_multiple, dt::range(1, 64),
               "features inside the feed-forward network / hidden_size");
    s.trajectory("dropout", dropout, dt::range(0.0, 0.99),
                 "drop probability: embeddings, attention, residual branches");
    s.identity("tied_head", tied_head, "the output layer shares the token embedding's weight");
  }
};

// Token plus position embedding: ids [B,T] -> [B,T,C].
struct Embed : dt::Layer {
  Embed(const dt::Build& b, const Options& o)
      : seq_len(b.data().seq_len),
        tok(b.embedding("tok", b.data().vocab_size, o.hidden_size, kInitStd)),
        pos(b.embedding("pos", seq_len, o.hidden_size, kInitStd)),
        drop(b.dropout("drop", o.dropout)) {}

  at::Tensor forward(at::Tensor ids, const dt::Batch& batch) override {
    const auto tokens = ids.size(1);
    if (tokens > seq_len) {
      throw dt::UserError("model gpt: a sequence has " + std::to_string(tokens) +
                              " tokens; the model was built for at most " + std::to_string(seq_len),
                          "raise data.seq_len (a new run) or give shorter sequences");
    }
    const auto positions = at::arange(tokens, at::kLong);
    return drop->forward(tok->forward(std::move(ids), batch) + pos->forward(positions, batch), batch);
  }

  std::int64_t seq_len;
  dt::LayerPtr tok, pos, drop;
};

struct Block : dt::Layer {
  Block(const dt::Build& build, const Options& o)
      : b(build),
        norm1(b.layer_norm("norm1", o.hidden_size)),
        attention(b.attention("attention", {.hidden = o.hidden_size,
                                            .heads = o.num_heads,
                                            .causal = true,
                                            .dropout = o.dropout,
                                            .bias = true,
                                            .output_init_std = residual_std(o)})),
        norm2(b.layer_norm("norm2", o.hidden_size)),
        up(b.column_linear("up", o.hidden_size, o.ffn_multiple * o.hidden_size)),
        down(b.row_linear("down", o.ffn_multiple * o.hidden_size, o.hidden_size, true, residual_std(o))),
        drop1(b.dropout("drop1", o.dropout)),
        drop2(b.dropout("drop2", o.dropout)) {}

  // The two projections of a block that are added to the residual stream start smaller, so that its variance does not
  // grow with depth.
  static double residual_std(const Options& o) { return kInitStd / std::sqrt(2.0 * static_cast<double>(o.num_layers)); }

  at::Tensor forward(at::Tensor x, const dt::Batch& batch) override {
    x = x + drop1->forward(attention->forward(norm1->forward(x, batch), batch), batch);
    const auto hidden = b.ops().gelu(up->forward(norm2->forward(x, batch), batch));
    return x + drop2->forward(down->forward(hidden, batch), batch);
  }

  dt::Build b;
  dt::LayerPtr norm1, attention, norm2, up, down, drop1, drop2;
};

struct Gpt : dt::LayeredModel {
  Gpt(const dt::Build& b, const Options& o) {
    check(b.data(), o);
    add<Embed>(b, o);
    for (std::int64_t i = 0; i < o.num_layers; ++i) add<Block>(b / "blocks" / i, o);
    add(b.layer_norm("norm", o.hidden_size));
    add(b.lm_head("head", o.hidden_size, b.data().vocab_size, o.tied_head ? b.registered("tok.weight") : at::Tensor()));
  }

  static void check(const dt::DataInfo& data, const Options& o) {
    if (data.vocab_size <= 0) {
      throw dt::UserError("model gpt: the data are not tokens (vocab_size is " + std::to_string(data.vocab_size) + ")",
                          "use a data set of tokens, such as kind = \"text\" with a [tokenizer]");
    }
    if (data.seq_len <= 0) {
      throw dt::UserError("model gpt: the data are not sequences (seq_len is " + std::to_string(data.seq_len) + ")",
                          "set data.seq_len");
    }
    if (o.hidden_size % o.num_heads != 0) {
      throw dt::UserError("model gpt: hidden_size " + std::to_string(o.hidden_size) +
                              " is not a multiple of num_heads " + std::to_string(o.num_heads),
                          "change model.hidden_size or model.num_heads");
    }
  }
};

}  // namespace

DTRAIN_PLUGIN("gpt", "0.1.0", dt::model<Gpt, Options>("gpt"))
