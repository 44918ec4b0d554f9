// SPDX-License-Identifier: Apache-2.0
//
// A small image classifier: blocks of convolution, batch normalisation (Ioffe and Szegedy, 2015), ReLU and 2x2 max
// pooling, then one linear layer. Input [B,C,h,w] or [B,h,w] (fp32); output: logits [B,classes].
#include <dtrain/model.h>

#include <cmath>
#include <string>
#include <vector>

namespace {

namespace dt = dtrain;

struct Options {
  std::vector<std::int64_t> channels = {16, 32};
  std::int64_t kernel_size = 3;
  std::int64_t outputs = 0;

  constexpr void describe(dt::Schema& s) {
    s.identity("channels", channels, dt::range(1, 4096), "channels of each block; a block halves height and width");
    s.identity("kernel_size", kernel_size, dt::range(1, 15), "height and width of the kernels; odd");
    s.identity("outputs", outputs, dt::range(0, 1 << 20), "outputs; 0: the number of classes of the data");
  }
};

// [B,h,w] -> [B,1,h,w].
struct Image : dt::Layer {
  at::Tensor forward(at::Tensor x, const dt::Batch&) override { return x.dim() == 3 ? x.unsqueeze(1) : x; }
};

struct Block : dt::Layer {
  Block(const dt::Build& build, std::int64_t in, std::int64_t out, std::int64_t kernel)
      : b(build),
        // The norm subtracts the mean: a bias before it would have no effect.
        conv(b.conv2d("conv", {.in = in, .out = out, .kernel = kernel, .padding = kernel / 2, .bias = false})),
        norm(b.batch_norm2d("norm", out)) {}
  at::Tensor forward(at::Tensor x, const dt::Batch& batch) override {
    return at::max_pool2d(b.ops().relu(norm->forward(conv->forward(std::move(x), batch), batch)), 2);
  }
  dt::Build b;
  dt::LayerPtr conv, norm;
};

struct Flatten : dt::Layer {
  at::Tensor forward(at::Tensor x, const dt::Batch&) override { return x.flatten(1); }
};

struct Convnet : dt::LayeredModel {
  Convnet(const dt::Build& b, const Options& o) {
    auto [channels, height, width] = image_shape(b.data());
    const auto outputs = o.outputs > 0 ? o.outputs : b.data().num_classes;
    if (outputs <= 0) throw dt::UserError("model convnet: the data have no classes", "set model.outputs");
    if (o.kernel_size % 2 == 0) {
      throw dt::UserError("model convnet: kernel_size is " + std::to_string(o.kernel_size) + "; it must be odd",
                          "choose 3, 5 or 7");
    }
    add<Image>();
    for (std::size_t i = 0; i < o.channels.size(); ++i) {
      if (height < 2 || width < 2) {
        throw dt::UserError("model convnet: " + std::to_string(o.channels.size()) +
                                " blocks halve an image more often than its size allows: " + "block " +
                                std::to_string(i) + " gets " + std::to_string(height) + "x" + std::to_string(width),
                            "give fewer model.channels");
      }
      add<Block>(b / "blocks" / static_cast<std::int64_t>(i), channels, o.channels[i], o.kernel_size);
      channels = o.channels[i];
      height /= 2;
      width /= 2;
    }
    add<Flatten>();
    const auto features = channels * height * width;
    add(b.linear("output",
                 {.in = features, .out = outputs, .init_std = std::sqrt(1.0 / static_cast<double>(features))}));
  }

  struct Shape {
    std::int64_t channels, height, width;
  };
  static Shape image_shape(const dt::DataInfo& data) {
    const auto* input = data.find("input");
    if (input != nullptr && input->type == dt::DType::f32) {
      const auto& shape = input->shape;
      if (shape.size() == 3) return {shape[0], shape[1], shape[2]};
      if (shape.size() == 2) return {1, shape[0], shape[1]};
    }
    throw dt::UserError("model convnet: the data have no images: a field 'input' of f32 and shape [C,h,w] or [h,w]",
                        "use a data set of images, such as kind = \"idx\"");
  }
};

}  // namespace

DTRAIN_PLUGIN("convnet", "0.1.0", dt::model<Convnet, Options>("convnet"))
