// SPDX-License-Identifier: Apache-2.0
#include <dtrain/eval_split.h>
#include <gtest/gtest.h>

#include <vector>

namespace dtrain {
namespace {

TEST(EvalSplit, DividesEverySetExactly) {
  for (std::int64_t n : {2, 3, 10, 37, 1000}) {
    for (double fraction : {0.001, 0.02, 0.1, 0.5, 0.9, 0.999}) {
      const EvalSplit train(n, fraction, Split::train);
      const EvalSplit eval(n, fraction, Split::eval);
      EXPECT_GE(train.size(), 1);
      EXPECT_GE(eval.size(), 1);
      std::vector<int> uses(static_cast<std::size_t>(n));
      for (const auto* split : {&train, &eval}) {
        std::int64_t last = -1;
        for (std::int64_t i = 0; i < split->size(); ++i) {
          const auto sample = split->at(i);
          EXPECT_GT(sample, last);
          last = sample;
          ++uses.at(static_cast<std::size_t>(sample));
        }
      }
      EXPECT_EQ(uses, std::vector<int>(static_cast<std::size_t>(n), 1)) << n << " " << fraction;
    }
  }
}

TEST(EvalSplit, TakesTheShareSpreadOverTheSet) {
  const EvalSplit eval(100, 0.04, Split::eval);
  ASSERT_EQ(eval.size(), 4);
  EXPECT_EQ(eval.at(0), 24);
  EXPECT_EQ(eval.at(1), 49);
  EXPECT_EQ(eval.at(3), 99);
}

TEST(EvalSplit, NoFractionMeansTheWholeSet) {
  for (auto split : {Split::train, Split::eval}) {
    const EvalSplit whole(5, 0, split);
    EXPECT_EQ(whole.size(), 5);
    EXPECT_EQ(whole.at(4), 4);
  }
}

TEST(EvalSplit, Errors) {
  try {
    EvalSplit(1, 0.1, Split::train);
    FAIL();
  } catch (const UserError& e) {
    EXPECT_EQ(e.message(), "data.eval_fraction cannot divide a data set of 1 samples");
    EXPECT_EQ(e.hint(), "give it at least 2 samples, or name the evaluation data in data.eval");
  }
}

}  // namespace
}  // namespace dtrain
