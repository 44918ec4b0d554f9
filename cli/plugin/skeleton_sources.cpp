// SPDX-License-Identifier: Apache-2.0
#include "cli/plugin/skeleton_sources.h"

#include <array>

namespace dtrain::cli {
namespace {

constexpr std::string_view kModel = R"text(// Token ids [B,T] -> features [B,T,C] -> logits [B,T,V].
#include <dtrain/model.h>

namespace dt = dtrain;

namespace {

struct Options {
  std::int64_t num_layers = 2, hidden_size = 64;
  constexpr void describe(dt::Schema& s) {
    s.identity("num_layers", num_layers, dt::range(1, 512), "residual blocks");
    s.identity("hidden_size", hidden_size, dt::range(8, 65536), "features per token");
  }
};

struct Block : dt::Layer {
  Block(const dt::Build& b, const Options& o)
      : build(b),
        norm(b.layer_norm("norm", o.hidden_size)),
        up(b.column_linear("up", o.hidden_size, 4 * o.hidden_size)),
        down(b.row_linear("down", 4 * o.hidden_size, o.hidden_size)) {}

  at::Tensor forward(at::Tensor x, const dt::Batch& batch) override {
    return x + down->forward(build.ops().gelu(up->forward(norm->forward(x, batch), batch)), batch);
  }

  dt::Build build;
  dt::LayerPtr norm, up, down;
};

struct @CLASS@ : dt::LayeredModel {
  @CLASS@(dt::Build b, const Options& o) {
    const auto vocab = b.data().vocab_size;
    if (vocab <= 0) throw dt::UserError("model @NAME@ needs data of tokens", "choose a data set with a tokenizer");
    add(b.embedding("embed", vocab, o.hidden_size));
    for (std::int64_t i = 0; i < o.num_layers; ++i) add<Block>(b / "blocks" / i, o);
    add(b.lm_head("head", o.hidden_size, vocab));
  }
};

}  // namespace

DTRAIN_PLUGIN("@NAME@", "0.1.0", dt::model<@CLASS@, Options>("@NAME@"))
)text";

constexpr std::string_view kLoss =
    R"text(// Absolute error: |output - target| summed over all elements, weighed by their number.
#include <dtrain/loss.h>

namespace dt = dtrain;

namespace {

struct @CLASS@ : dt::Loss {
  @CLASS@(const dt::LossContext&, const dt::NoOptions&) {}
  dt::LossValue forward(const at::Tensor& output, const dt::Batch& batch) override {
    const auto error = (output - batch.at("target")).abs();
    return {.sum = error.sum(), .weight = static_cast<double>(error.numel())};
  }
};

}  // namespace

DTRAIN_PLUGIN("@NAME@", "0.1.0", dt::loss<@CLASS@>("@NAME@"))
)text";

constexpr std::string_view kOptimizer =
    R"text(// Gradient descent with momentum: v = momentum * v + g, p -= lr * (v + decay * p).
// lr, its schedule, groups, decay and clipping are dtrain's; an option here is what is special to this optimizer.
#include <dtrain/optimizer.h>

namespace dt = dtrain;

namespace {

struct @CLASS@ {
  struct Options {
    double momentum = 0.9;
    constexpr void describe(dt::Schema& s) {
      s.trajectory("momentum", momentum, dt::range(0.0, 0.9999), "share of the velocity that is kept");
    }
  };
  Options options;

  static constexpr std::array<std::string_view, 1> slots = {"velocity"};
  struct Coefficients {
    float lr, decay, momentum;
  };
  Coefficients coefficients(const dt::UpdateScalars& u) const {
    return {static_cast<float>(u.lr), static_cast<float>(u.weight_decay), static_cast<float>(options.momentum)};
  }
  static void apply(const Coefficients& k, float& p, float g, float* s) {
    s[0] = k.momentum * s[0] + g;
    p -= k.lr * (s[0] + k.decay * p);
  }
};

}  // namespace

DTRAIN_PLUGIN("@NAME@", "0.1.0", dt::elementwise_optimizer<@CLASS@>("@NAME@"))
)text";

constexpr std::string_view kData = R"text(// Pairs of a number x in [0, 1) and its class: floor(x * classes).
#include <dtrain/data.h>
#include <dtrain/eval_split.h>

#include <cstring>

namespace dt = dtrain;

namespace {

struct Options {
  std::int64_t samples = 1000, classes = 4;
  constexpr void describe(dt::Schema& s) {
    s.identity("samples", samples, dt::at_least(2), "size of the set");
    s.identity("classes", classes, dt::range(2, 1000), "number of classes");
  }
};

class @CLASS@ : public dt::DataSet {
 public:
  @CLASS@(const dt::DataContext& context, const Options& o)
      : seed_(context.seed), classes_(o.classes), split_(o.samples, context.eval_fraction, context.split) {
    info_.fields = {{"input", dt::DType::f32, {1}}, {"target", dt::DType::i64, {}}};
    info_.num_classes = o.classes;
  }

  const dt::DataInfo& info() const override { return info_; }
  std::int64_t size() const override { return split_.size(); }

  // Any thread. The same index always gives the same sample; `draws` are for augmentation.
  void read(std::int64_t index, dt::rng::Stream&, std::span<const std::span<std::byte>> out) const override {
    const auto sample = split_.at(index);
    const float x = dt::rng::Stream(seed_, static_cast<std::uint64_t>(sample)).uniform();
    const auto target = static_cast<std::int64_t>(x * static_cast<float>(classes_));
    std::memcpy(out[0].data(), &x, sizeof x);
    std::memcpy(out[1].data(), &target, sizeof target);
  }

 private:
  std::uint64_t seed_;
  std::int64_t classes_;
  dt::EvalSplit split_;
  dt::DataInfo info_;
};

}  // namespace

DTRAIN_PLUGIN("@NAME@", "0.1.0", dt::data<@CLASS@, Options>("@NAME@"))
)text";

constexpr std::string_view kTokenizer = R"text(// One token a byte of 7-bit ASCII; every other byte is the token 127.
#include <dtrain/tokenizer.h>

namespace dt = dtrain;

namespace {

struct @CLASS@ : dt::Tokenizer {
  @CLASS@(const dt::TokenizerContext&, const dt::NoOptions&) {}

  std::int64_t vocab_size() const override { return 128; }

  std::vector<std::int32_t> encode(std::string_view text) const override {
    std::vector<std::int32_t> tokens;
    tokens.reserve(text.size());
    for (const unsigned char c : text) tokens.push_back(c < 128 ? c : 127);
    return tokens;
  }

  std::string decode(std::span<const std::int32_t> tokens) const override {
    std::string text;
    for (const auto token : tokens) {
      if (token < 0 || token >= vocab_size()) {
        throw dt::UserError("tokenizer @NAME@: token " + std::to_string(token) + " is outside [0, 128)");
      }
      text.push_back(static_cast<char>(token));
    }
    return text;
  }
};

}  // namespace

DTRAIN_PLUGIN("@NAME@", "0.1.0", dt::tokenizer<@CLASS@>("@NAME@"))
)text";

constexpr std::string_view kSchedule =
    R"text(// Polynomial decay from 1 to 0 over the updates after warm-up. Warm-up itself is dtrain's.
#include <dtrain/schedule.h>

#include <algorithm>
#include <cmath>

namespace dt = dtrain;

namespace {

struct Options {
  double power = 2;
  constexpr void describe(dt::Schema& s) {
    s.trajectory("power", power, dt::range(0.1, 10), "exponent of the decay");
  }
};

struct @CLASS@ : dt::Schedule {
  @CLASS@(const dt::ScheduleContext& c, const Options& o) : context(c), options(o) {}

  double factor(std::int64_t update) const override {
    const auto length = static_cast<double>(std::max<std::int64_t>(context.total_updates - context.warmup, 1));
    const auto done = static_cast<double>(update - context.warmup) / length;
    return std::pow(1 - std::clamp(done, 0.0, 1.0), options.power);
  }

  dt::ScheduleContext context;
  Options options;
};

}  // namespace

DTRAIN_PLUGIN("@NAME@", "0.1.0", dt::schedule<@CLASS@, Options>("@NAME@"))
)text";

constexpr std::string_view kStore =
    R"text(// Objects in the memory of the process: the interface in its simplest form. What a real store adds is durability: finish()
// and publish() return when a power cut can no longer take back what they did.
#include <dtrain/store.h>

#include <algorithm>
#include <map>
#include <mutex>

namespace dt = dtrain;

namespace {

using Bytes = std::vector<std::byte>;

[[noreturn]] void fail(const std::string& operation, const std::string& key, const std::string& why) {
  throw dt::RecoverableError(dt::RecoverableError::Kind::store_unavailable,
                             "store @NAME@: " + operation + " " + key + ": " + why);
}

struct Objects {
  std::mutex mutex;
  std::map<std::string, Bytes> by_key;
};

struct Writer : dt::ObjectWriter {
  Writer(std::shared_ptr<Objects> o, std::string k) : objects(std::move(o)), key(std::move(k)) {}
  void write(std::span<const std::byte> part) override { bytes.insert(bytes.end(), part.begin(), part.end()); }
  void finish() override {
    const std::lock_guard lock(objects->mutex);
    objects->by_key[key] = std::move(bytes);
  }
  std::shared_ptr<Objects> objects;
  std::string key;
  Bytes bytes;
};

struct Reader : dt::ObjectReader {
  Reader(std::string k, Bytes b) : key(std::move(k)), bytes(std::move(b)) {}
  std::uint64_t size() const override { return bytes.size(); }
  void read(std::uint64_t offset, std::span<std::byte> out) const override {
    if (offset > bytes.size() || out.size() > bytes.size() - offset) fail("read", key, "past the end");
    std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(offset), out.size(), out.begin());
  }
  std::string key;
  Bytes bytes;
};

bool below(const std::string& key, const std::string& prefix) {
  return prefix.empty() || key == prefix || key.starts_with(prefix + "/");
}

class @CLASS@ : public dt::Store {
 public:
  @CLASS@(const dt::StoreContext&, const dt::NoOptions&) {}

  std::unique_ptr<dt::ObjectWriter> create(const std::string& key) override {
    return std::make_unique<Writer>(objects_, key);
  }
  std::unique_ptr<dt::ObjectReader> open(const std::string& key) const override {
    const std::lock_guard lock(objects_->mutex);
    const auto it = objects_->by_key.find(key);
    if (it == objects_->by_key.end()) fail("open", key, "no such object");
    return std::make_unique<Reader>(key, it->second);
  }
  bool exists(const std::string& key) const override {
    const std::lock_guard lock(objects_->mutex);
    return objects_->by_key.contains(key);
  }
  std::vector<dt::ObjectInfo> list(const std::string& prefix) const override {
    const std::lock_guard lock(objects_->mutex);
    std::vector<dt::ObjectInfo> found;
    for (const auto& [key, bytes] : objects_->by_key) {
      if (below(key, prefix)) found.push_back({key, bytes.size()});
    }
    return found;
  }
  void remove(const std::string& prefix) override {
    const std::lock_guard lock(objects_->mutex);
    std::erase_if(objects_->by_key, [&](const auto& object) { return below(object.first, prefix); });
  }
  void publish(const std::string& staging, const std::string& final_prefix) override {
    const std::lock_guard lock(objects_->mutex);
    std::map<std::string, Bytes> next;
    for (const auto& [key, bytes] : objects_->by_key) {
      if (below(key, final_prefix)) fail("publish", final_prefix, "it exists");
      next[below(key, staging) ? final_prefix + key.substr(staging.size()) : key] = bytes;
    }
    objects_->by_key = std::move(next);
  }

 private:
  std::shared_ptr<Objects> objects_ = std::make_shared<Objects>();
};

}  // namespace

DTRAIN_PLUGIN("@NAME@", "0.1.0", dt::store<@CLASS@>("@NAME@"))
)text";

constexpr std::string_view kComm =
    R"text(// A group of one rank: nothing to send, every collective is done at once. For more ranks, meet the others through
// context.rendezvous, then implement send(), receive() and abort(); see the contract in <dtrain/comm.h>.
#include <dtrain/comm.h>

#include <atomic>

namespace dt = dtrain;

namespace {

struct Done : dt::Work {
  void wait(dt::Stream) override {}
  bool done() const override { return true; }
};

class @CLASS@ : public dt::Communicator {
 public:
  @CLASS@(const dt::CommContext& context, const dt::NoOptions&) {
    if (context.size != 1) {
      throw dt::UserError("comm @NAME@ serves one rank, found " + std::to_string(context.size),
                          "run with --ranks 1, or choose another comm.kind");
    }
  }

  int rank() const override { return 0; }
  int size() const override { return 1; }
  const std::set<std::string, std::less<>>& capabilities() const override { return capabilities_; }

  std::unique_ptr<dt::Work> send(std::span<const std::byte>, int peer, std::uint64_t) override { no_peer(peer); }
  std::unique_ptr<dt::Work> receive(std::span<std::byte>, int peer, std::uint64_t) override { no_peer(peer); }
  std::unique_ptr<dt::Work> all_reduce(void*, std::size_t, dt::DType, dt::ReduceOp) override { return finished(); }
  std::unique_ptr<dt::Work> broadcast(std::span<std::byte>, int) override { return finished(); }
  void abort() noexcept override { aborted_ = true; }

 private:
  [[noreturn]] static void no_peer(int peer) {
    throw dt::InvariantError("peer < size", "there is no rank " + std::to_string(peer) + " in a group of one",
                             std::source_location::current());
  }
  std::unique_ptr<dt::Work> finished() const {
    if (aborted_) throw dt::RecoverableError(dt::RecoverableError::Kind::aborted, "the group was aborted");
    return std::make_unique<Done>();
  }

  std::set<std::string, std::less<>> capabilities_ = {"all_reduce", "broadcast"};
  std::atomic<bool> aborted_ = false;
};

}  // namespace

DTRAIN_PLUGIN("@NAME@", "0.1.0", dt::comm<@CLASS@>("@NAME@"))
)text";

constexpr std::array kSources = {
    SkeletonSource{"model", true, kModel},          SkeletonSource{"loss", true, kLoss},
    SkeletonSource{"optimizer", false, kOptimizer}, SkeletonSource{"data", false, kData},
    SkeletonSource{"tokenizer", false, kTokenizer}, SkeletonSource{"schedule", false, kSchedule},
    SkeletonSource{"store", false, kStore},         SkeletonSource{"comm", false, kComm},
};

}  // namespace

std::span<const SkeletonSource> skeleton_sources() {
  return kSources;
}

}  // namespace dtrain::cli
