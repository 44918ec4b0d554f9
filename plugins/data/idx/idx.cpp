// SPDX-License-Identifier: Apache-2.0
//
// Labelled images in IDX files, as MNIST and Fashion-MNIST come: "input" f32 [1, rows, cols] is (pixel / 255 - mean) /
// std, "target" i32 the label. Files of four dimensions (samples, channels, rows, cols) give [channels, rows, cols]; of
// two, [features].
#include <dtrain/data.h>
#include <dtrain/eval_split.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "idx_file.h"

namespace {

namespace dt = dtrain;

struct Options {
  std::string images;
  std::string labels;
  double mean = 0;
  double std = 1;
  std::int64_t classes = 0;

  constexpr void describe(dt::Schema& s) {
    s.identity("images", images, dt::required().path(), "IDX file of unsigned bytes, plain or gzip");
    s.identity("labels", labels, dt::required().path(), "IDX file of one byte a sample, plain or gzip");
    s.identity("mean", mean, "subtracted from the pixels, which are in [0, 1]");
    s.identity("std", std, dt::above(0), "divides what is left");
    s.identity("classes", classes, dt::range(0, 256), "number of classes; 0: the highest label + 1");
  }
};

class Idx final : public dt::DataSet {
 public:
  Idx(const dt::DataContext& context, const Options& options)
      : images_(read_idx(options.images)),
        labels_(read_idx(options.labels)),
        split_(check(options), context.eval_fraction, context.split) {
    std::vector<std::int64_t> shape(images_.shape.begin() + 1, images_.shape.end());
    if (shape.size() == 2) shape.insert(shape.begin(), 1);
    info_.fields = {{.name = "input", .type = dt::DType::f32, .shape = shape},
                    {.name = "target", .type = dt::DType::i32, .shape = {}}};
    info_.num_classes = options.classes;
    const int highest = *std::max_element(labels_.bytes.begin(), labels_.bytes.end());
    if (options.classes == 0) info_.num_classes = highest + 1;
    if (highest >= info_.num_classes) {
      throw dt::UserError("data idx: " + options.labels + " has label " + std::to_string(highest) +
                              ", but classes = " + std::to_string(options.classes),
                          "labels are 0 to classes - 1: set classes to at least " + std::to_string(highest + 1));
    }
    pixels_ = info_.fields[0].elements();
    for (std::size_t i = 0; i < values_.size(); ++i) {
      values_[i] = static_cast<float>((static_cast<double>(i) / 255.0 - options.mean) / options.std);
    }
  }

  const dt::DataInfo& info() const override { return info_; }
  std::int64_t size() const override { return split_.size(); }

  void read(std::int64_t index, dt::rng::Stream&, std::span<const std::span<std::byte>> out) const override {
    const auto sample = static_cast<std::size_t>(split_.at(index));
    const auto* from = images_.bytes.data() + sample * pixels_;
    for (std::size_t i = 0; i < pixels_; ++i) std::memcpy(out[0].data() + i * 4, &values_[from[i]], 4);
    const std::int32_t label = labels_.bytes[sample];
    std::memcpy(out[1].data(), &label, 4);
  }

 private:
  std::int64_t check(const Options& options) const {
    if (images_.shape.size() < 2) {
      throw dt::UserError("data idx: " + options.images + " has 1 dimension; images have 2 to 4",
                          "are images and labels interchanged?");
    }
    if (labels_.shape.size() != 1) {
      throw dt::UserError(
          "data idx: " + options.labels + " has " + std::to_string(labels_.shape.size()) + " dimensions; labels have 1",
          "are images and labels interchanged?");
    }
    if (images_.shape[0] != labels_.shape[0]) {
      throw dt::UserError("data idx: " + options.images + " has " + std::to_string(images_.shape[0]) + " images, " +
                              options.labels + " has " + std::to_string(labels_.shape[0]) + " labels",
                          "name the two files of one set");
    }
    if (images_.bytes.empty()) throw dt::UserError("data idx: " + options.images + " has no samples", "get it again");
    return images_.shape[0];
  }

  IdxFile images_;
  IdxFile labels_;
  dt::EvalSplit split_;
  dt::DataInfo info_;
  std::size_t pixels_ = 0;
  std::array<float, 256> values_{};
};

}  // namespace

DTRAIN_PLUGIN("idx", "0.1.0", dt::data<Idx, Options>("idx"))
