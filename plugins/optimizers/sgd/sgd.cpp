// SPDX-License-Identifier: Apache-2.0
//
// Stochastic gradient descent with momentum (Polyak, 1964) in the form of Sutskever et al., "On the importance of
// initialization and momentum in deep learning" (2013), where the learning rate is outside the momentum buffer;
// Nesterov's look-ahead by choice. Weight decay is added to the gradient (L2), as in torch.optim.SGD.
#include <dtrain/optimizer.h>

#include <string>

namespace {

namespace dt = dtrain;

struct Sgd {
  struct Options {
    double momentum = 0;
    double dampening = 0;
    bool nesterov = false;

    constexpr void describe(dt::Schema& s) {
      s.trajectory("momentum", momentum, dt::range(0.0, 1.0), "share of the last update's direction that is kept");
      s.trajectory("dampening", dampening, dt::range(0.0, 1.0), "share of the gradient that momentum leaves out");
      s.trajectory("nesterov", nesterov, "look ahead by one step of momentum");
    }
  };

  explicit Sgd(const Options& o) : options(o) {
    if (o.nesterov && (o.momentum == 0 || o.dampening != 0)) {
      throw dt::UserError("optimizer sgd: nesterov = true needs momentum above 0 and dampening = 0, found momentum = " +
                              std::to_string(o.momentum) + " and dampening = " + std::to_string(o.dampening),
                          "set optimizer.momentum (0.9 is usual) and leave optimizer.dampening at 0, or set "
                          "optimizer.nesterov = false");
    }
  }

  static constexpr std::array<std::string_view, 1> slots = {"momentum"};

  // direction = from_gradient * g + from_momentum * momentum
  struct Coefficients {
    float lr, decay, momentum, gain, from_gradient, from_momentum;
  };

  Coefficients coefficients(const dt::UpdateScalars& u) const {
    const auto momentum = static_cast<float>(options.momentum);
    return {
        .lr = static_cast<float>(u.lr),
        .decay = static_cast<float>(u.weight_decay),
        .momentum = momentum,
        // The first update starts the buffer with the whole gradient.
        .gain = u.update == 1 ? 1.0F : static_cast<float>(1.0 - options.dampening),
        .from_gradient = options.nesterov || options.momentum == 0 ? 1.0F : 0.0F,
        .from_momentum = options.nesterov ? momentum : (options.momentum == 0 ? 0.0F : 1.0F),
    };
  }

  static void apply(const Coefficients& k, float& p, float g, float* s) {
    g += k.decay * p;
    s[0] = k.momentum * s[0] + k.gain * g;
    p -= k.lr * (k.from_gradient * g + k.from_momentum * s[0]);
  }

  Options options;
};

}  // namespace

DTRAIN_PLUGIN("sgd", "0.1.0", dtrain::elementwise_optimizer<Sgd>("sgd"))
