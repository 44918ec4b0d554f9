// SPDX-License-Identifier: Apache-2.0
//
// AdamW: Adam (Kingma and Ba, 2015, algorithm 1) with decoupled weight decay (Loshchilov and Hutter, 2019, algorithm 2;
// the decay is scaled by the learning rate, as in torch.optim.AdamW).
#include <dtrain/optimizer.h>

#include <cmath>

namespace {

namespace dt = dtrain;

struct AdamW {
  struct Options {
    double beta1 = 0.9;
    double beta2 = 0.999;
    double epsilon = 1e-8;

    constexpr void describe(dt::Schema& s) {
      s.trajectory("beta1", beta1, dt::range(0.0, 0.999999), "decay rate of the mean of the gradient");
      s.trajectory("beta2", beta2, dt::range(0.0, 0.999999), "decay rate of the mean of the squared gradient");
      s.trajectory("epsilon", epsilon, dt::above(0), "added to the root of the squared gradient's mean");
    }
  };
  Options options;

  static constexpr std::array<std::string_view, 2> slots = {"exp_avg", "exp_avg_sq"};

  struct Coefficients {
    float keep, beta1, gain1, beta2, gain2, step_size, inverse_root, epsilon;
  };

  Coefficients coefficients(const dt::UpdateScalars& u) const {
    const auto n = static_cast<double>(u.update);
    const double correction1 = 1.0 - std::pow(options.beta1, n);
    const double correction2 = 1.0 - std::pow(options.beta2, n);
    return {
        .keep = static_cast<float>(1.0 - u.lr * u.weight_decay),
        .beta1 = static_cast<float>(options.beta1),
        .gain1 = static_cast<float>(1.0 - options.beta1),
        .beta2 = static_cast<float>(options.beta2),
        .gain2 = static_cast<float>(1.0 - options.beta2),
        .step_size = static_cast<float>(u.lr / correction1),
        .inverse_root = static_cast<float>(1.0 / std::sqrt(correction2)),
        .epsilon = static_cast<float>(options.epsilon),
    };
  }

  static void apply(const Coefficients& k, float& p, float g, float* s) {
    s[0] = k.beta1 * s[0] + k.gain1 * g;
    s[1] = k.beta2 * s[1] + k.gain2 * (g * g);
    p = k.keep * p - k.step_size * s[0] / (std::sqrt(s[1]) * k.inverse_root + k.epsilon);
  }
};

}  // namespace

DTRAIN_PLUGIN("adamw", "0.1.0", dtrain::elementwise_optimizer<AdamW>("adamw"))
