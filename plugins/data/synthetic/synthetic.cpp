// SPDX-License-Identifier: Apache-2.0
//
// Data made of random numbers, for trying things out: sample i is a function of (seed, i).
//   classification  "input" f32 [features] around one of `classes` random centres, "target" i32 the centre's number
//   regression      "input" f32 [features], "target" f32 [outputs]: a random linear map of it plus noise
//   tokens          "input" and "target" i32 [seq_len]: each token follows from the one before it by a random
//   permutation of the
//                   vocabulary, except for a share `noise` that is drawn at random
#include <dtrain/data.h>
#include <dtrain/eval_split.h>

#include <array>
#include <cmath>
#include <cstring>
#include <memory>
#include <numeric>
#include <utility>

namespace {

namespace dt = dtrain;

struct Options {
  std::string task = "classification";
  std::int64_t samples = 1024;
  std::int64_t features = 16;
  std::int64_t classes = 4;
  std::int64_t outputs = 1;
  std::int64_t vocab_size = 64;
  double noise = 0.1;

  constexpr void describe(dt::Schema& s) {
    s.identity("task", task, dt::choices({"classification", "regression", "tokens"}), "what is to be learnt");
    s.identity("samples", samples, dt::range(1, 1e12), "samples in the set");
    s.identity("features", features, dt::range(1, 1 << 20), "numbers of one input (classification, regression)");
    s.identity("classes", classes, dt::range(2, 1 << 20), "classes (classification)");
    s.identity("outputs", outputs, dt::range(1, 1 << 20), "numbers of one target (regression)");
    s.identity("vocab_size", vocab_size, dt::range(2, 1 << 20), "tokens (tokens)");
    s.identity("noise", noise, dt::range(0, 1), "standard deviation of the noise, or share of random tokens (tokens)");
  }
};

class Normals {
 public:
  explicit Normals(dt::rng::Stream& stream) : stream_(stream) {}
  float next() {
    if (!have_) {
      const auto a = stream_.next();
      const auto b = stream_.next();
      pair_ = dt::rng::to_normal(a, b);
    }
    have_ = !have_;
    return have_ ? pair_[0] : pair_[1];
  }

 private:
  dt::rng::Stream& stream_;
  std::array<float, 2> pair_{};
  bool have_ = false;
};

template <class T>
void put(std::span<std::byte> out, std::size_t i, T value) {
  std::memcpy(out.data() + i * sizeof(T), &value, sizeof(T));
}

// What the three tasks share: size, split and the random numbers of a sample.
class Synthetic : public dt::DataSet {
 public:
  Synthetic(const dt::DataContext& context, const Options& options)
      : o_(options),
        split_(options.samples, context.eval_fraction, context.split),
        task_key_(dt::rng::key(context.seed, "synthetic.task")),
        // A set that is named in data.eval has the rule of the training set and samples of its own.
        sample_key_(dt::rng::key(context.seed, context.split == dt::Split::eval && context.eval_fraction <= 0
                                                   ? "synthetic.eval"
                                                   : "synthetic.sample")) {}

  const dt::DataInfo& info() const final { return info_; }
  std::int64_t size() const final { return split_.size(); }

  void read(std::int64_t index, dt::rng::Stream&, std::span<const std::span<std::byte>> out) const final {
    const auto sample = split_.at(index);
    dt::rng::Stream stream(sample_key_, static_cast<std::uint64_t>(sample));
    make(sample, stream, out[0], out[1]);
  }

 protected:
  virtual void make(std::int64_t sample, dt::rng::Stream& stream, std::span<std::byte> input,
                    std::span<std::byte> target) const = 0;

  // The numbers that define the task: the same for training and evaluation.
  std::vector<float> normals(std::int64_t count, double scale) const {
    dt::rng::Stream stream(task_key_, 0);
    Normals normal(stream);
    std::vector<float> out(static_cast<std::size_t>(count));
    for (auto& value : out) value = static_cast<float>(scale * normal.next());
    return out;
  }

  Options o_;
  dt::EvalSplit split_;
  std::uint64_t task_key_;
  std::uint64_t sample_key_;
  dt::DataInfo info_;
};

class Classification final : public Synthetic {
 public:
  Classification(const dt::DataContext& context, const Options& options)
      : Synthetic(context, options), centres_(normals(o_.classes * o_.features, 1.0)) {
    info_ = {.fields = {{.name = "input", .type = dt::DType::f32, .shape = {o_.features}},
                        {.name = "target", .type = dt::DType::i32, .shape = {}}},
             .num_classes = o_.classes};
  }

 private:
  void make(std::int64_t sample, dt::rng::Stream& stream, std::span<std::byte> input,
            std::span<std::byte> target) const override {
    const auto label = sample % o_.classes;
    const auto* centre = centres_.data() + label * o_.features;
    Normals normal(stream);
    for (std::int64_t f = 0; f < o_.features; ++f) {
      put(input, static_cast<std::size_t>(f), centre[f] + static_cast<float>(o_.noise) * normal.next());
    }
    put(target, 0, static_cast<std::int32_t>(label));
  }

  std::vector<float> centres_;
};

class Regression final : public Synthetic {
 public:
  Regression(const dt::DataContext& context, const Options& options)
      : Synthetic(context, options),
        map_(normals(o_.outputs * o_.features, 1.0 / std::sqrt(static_cast<double>(o_.features)))) {
    info_.fields = {{.name = "input", .type = dt::DType::f32, .shape = {o_.features}},
                    {.name = "target", .type = dt::DType::f32, .shape = {o_.outputs}}};
  }

 private:
  void make(std::int64_t, dt::rng::Stream& stream, std::span<std::byte> input,
            std::span<std::byte> target) const override {
    Normals normal(stream);
    for (std::int64_t f = 0; f < o_.features; ++f) put(input, static_cast<std::size_t>(f), normal.next());
    for (std::int64_t k = 0; k < o_.outputs; ++k) {
      double sum = 0;
      for (std::int64_t f = 0; f < o_.features; ++f) {
        float x = 0;
        std::memcpy(&x, input.data() + f * 4, 4);
        sum += static_cast<double>(map_[static_cast<std::size_t>(k * o_.features + f)]) * x;
      }
      put(target, static_cast<std::size_t>(k), static_cast<float>(sum + o_.noise * normal.next()));
    }
  }

  std::vector<float> map_;
};

class Tokens final : public Synthetic {
 public:
  Tokens(const dt::DataContext& context, const Options& options)
      : Synthetic(context, options), seq_len_(context.seq_len), follower_(static_cast<std::size_t>(o_.vocab_size)) {
    if (seq_len_ < 1) {
      throw dt::UserError("data synthetic: task = \"tokens\" needs data.seq_len",
                          "set data.seq_len, the tokens of one sample");
    }
    // Fisher and Yates' shuffle.
    std::iota(follower_.begin(), follower_.end(), 0);
    dt::rng::Stream stream(task_key_, 0);
    for (auto i = static_cast<std::uint32_t>(follower_.size()); i > 1; --i) {
      std::swap(follower_[i - 1], follower_[stream.below(i)]);
    }
    info_ = {.fields = {{.name = "input", .type = dt::DType::i32, .shape = {seq_len_}},
                        {.name = "target", .type = dt::DType::i32, .shape = {seq_len_}}},
             .vocab_size = o_.vocab_size,
             .seq_len = seq_len_};
  }

 private:
  void make(std::int64_t, dt::rng::Stream& stream, std::span<std::byte> input,
            std::span<std::byte> target) const override {
    const auto vocab = static_cast<std::uint32_t>(o_.vocab_size);
    auto token = static_cast<std::int32_t>(stream.below(vocab));
    for (std::size_t i = 0; i < static_cast<std::size_t>(seq_len_); ++i) {
      put(input, i, token);
      const bool random = stream.uniform() < o_.noise;
      token = random ? static_cast<std::int32_t>(stream.below(vocab)) : follower_[static_cast<std::size_t>(token)];
      put(target, i, token);
    }
  }

  std::int64_t seq_len_;
  std::vector<std::int32_t> follower_;
};

// One name in recipes; the task decides what stands behind it.
class AnyTask final : public dt::DataSet {
 public:
  AnyTask(const dt::DataContext& context, const Options& options) {
    if (options.task == "regression") {
      task_ = std::make_unique<Regression>(context, options);
    } else if (options.task == "tokens") {
      task_ = std::make_unique<Tokens>(context, options);
    } else {
      task_ = std::make_unique<Classification>(context, options);
    }
  }
  const dt::DataInfo& info() const override { return task_->info(); }
  std::int64_t size() const override { return task_->size(); }
  void read(std::int64_t index, dt::rng::Stream& draws, std::span<const std::span<std::byte>> out) const override {
    task_->read(index, draws, out);
  }

 private:
  std::unique_ptr<Synthetic> task_;
};

}  // namespace

DTRAIN_PLUGIN("synthetic", "0.1.0", dt::data<AnyTask, Options>("synthetic"))
