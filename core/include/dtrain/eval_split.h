// SPDX-License-Identifier: Apache-2.0
//
// How a data set is divided when [data] eval_fraction asks for it: the same rule for every data set, so that training
// never sees a sample of the evaluation.
//
// Of n samples e = round(n * fraction), at least 1 and at most n - 1, are for evaluation: the last one of each of e
// runs that are as equal as possible. They are spread over the whole set, so both parts look alike. Fraction 0 gives
// either split all of it: then the recipe names separate sets.
#pragma once

#include <dtrain/data.h>
#include <dtrain/error.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>

namespace dtrain {

// Immutable; any thread. O(1) memory.
class EvalSplit {
 public:
  // UserError when fewer than 2 samples are to be divided.
  EvalSplit(std::int64_t samples, double fraction, Split split) : samples_(samples), split_(split) {
    if (fraction <= 0) return;
    if (samples < 2) {
      throw UserError("data.eval_fraction cannot divide a data set of " + std::to_string(samples) + " samples",
                      "give it at least 2 samples, or name the evaluation data in data.eval");
    }
    const auto share = static_cast<std::int64_t>(std::round(static_cast<double>(samples) * fraction));
    eval_ = std::clamp<std::int64_t>(share, 1, samples - 1);
  }

  std::int64_t size() const {
    if (eval_ == 0) return samples_;
    return split_ == Split::eval ? eval_ : samples_ - eval_;
  }

  // The sample of the whole set that is number `index` of this split, in ascending order.
  std::int64_t at(std::int64_t index) const {
    if (eval_ == 0) return index;
    if (split_ == Split::eval) return eval_sample(index);
    // The first evaluation sample that comes after it: number k has eval_sample(k) - k training samples before it.
    std::int64_t low = 0;
    std::int64_t high = eval_;
    while (low < high) {
      const auto middle = low + (high - low) / 2;
      if (eval_sample(middle) - middle > index) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return index + low;
  }

 private:
  // floor((k + 1) n / e) - 1 without overflow.
  std::int64_t eval_sample(std::int64_t k) const {
    return (k + 1) * (samples_ / eval_) + (k + 1) * (samples_ % eval_) / eval_ - 1;
  }

  std::int64_t samples_;
  Split split_;
  std::int64_t eval_ = 0;
};

}  // namespace dtrain
