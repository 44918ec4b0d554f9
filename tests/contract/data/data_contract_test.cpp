// SPDX-License-Identifier: Apache-2.0
//
// What every data set must do.
#include <atomic>
#include <functional>
#include <set>
#include <thread>

#include "tests/contract/data/data_under_test.h"

namespace dtrain {
namespace {

struct Implementation {
  std::string label;
  std::string name;
  std::function<OptionValues(const std::filesystem::path& folder)> options;
};

class DataContract : public testing::TestWithParam<Implementation> {
 protected:
  auto make(Split split = Split::train, double eval_fraction = 0, std::uint64_t seed = 1) const {
    return component_.make({.split = split,
                            .seed = seed,
                            .seq_len = 16,
                            .eval_fraction = eval_fraction,
                            .tokenizer = &test::bytes_tokenizer()},
                           options_);
  }
  TempFolder folder_;
  test::PluginComponent<DataKind> component_ = test::data_plugin(GetParam().name);
  OptionValues options_ = GetParam().options(folder_.path());
};

TEST_P(DataContract, DescribesItsFields) {
  const auto set = make();
  ASSERT_FALSE(set->info().fields.empty());
  std::set<std::string> names;
  for (const auto& field : set->info().fields) {
    EXPECT_FALSE(field.name.empty());
    EXPECT_TRUE(names.insert(field.name).second) << field.name << " twice";
    for (auto n : field.shape) EXPECT_GE(n, 1);
  }
  EXPECT_NE(set->info().find("input"), nullptr);
}

TEST_P(DataContract, SizeIsPositiveAndConstant) {
  const auto set = make();
  const auto size = set->size();
  EXPECT_GE(size, 1);
  for (std::int64_t i = 0; i < size; ++i) test::read_sample(*set, i);
  EXPECT_EQ(set->size(), size);
}

TEST_P(DataContract, ReadingIsDeterministicInAnyOrder) {
  const auto set = make();
  const auto other = make();
  std::vector<test::Sample> samples;
  for (std::int64_t i = 0; i < set->size(); ++i) samples.push_back(test::read_sample(*set, i));
  ASSERT_EQ(other->size(), set->size());
  for (std::int64_t i = set->size(); i-- > 0;) {
    EXPECT_EQ(test::read_sample(*other, i), samples[static_cast<std::size_t>(i)]) << i;
  }
}

TEST_P(DataContract, WritesEveryByteOfEveryField) {
  const auto set = make();
  for (std::int64_t i = 0; i < set->size(); ++i) {
    EXPECT_EQ(test::read_sample(*set, i, 5, std::byte{0x5A}), test::read_sample(*set, i, 5, std::byte{0xA5})) << i;
  }
}

TEST_P(DataContract, MayBeReadByThreadsAtOnce) {
  const auto set = make();
  std::vector<test::Sample> samples;
  for (std::int64_t i = 0; i < set->size(); ++i) samples.push_back(test::read_sample(*set, i));
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (std::int64_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (std::int64_t i = 0; i < set->size(); ++i) {
        const auto index = (i * 7 + t) % set->size();
        if (test::read_sample(*set, index) != samples[static_cast<std::size_t>(index)]) ++wrong;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST_P(DataContract, LabelsAndTokensAreInRange) {
  const auto set = make();
  for (const auto& [limit, fields] :
       {std::pair<std::int64_t, std::vector<std::string>>{set->info().vocab_size, {"input", "target"}},
        {set->info().num_classes, {"target"}}}) {
    if (limit == 0) continue;
    for (std::size_t f = 0; f < set->info().fields.size(); ++f) {
      if (std::find(fields.begin(), fields.end(), set->info().fields[f].name) == fields.end()) continue;
      ASSERT_EQ(set->info().fields[f].type, DType::i32);
      for (std::int64_t i = 0; i < set->size(); ++i) {
        const auto sample = test::read_sample(*set, i);
        for (auto value : test::values<std::int32_t>(sample[f])) {
          ASSERT_GE(value, 0);
          ASSERT_LT(value, limit);
        }
      }
    }
  }
}

// Training and evaluation divide the whole set: no sample is in both, none is lost.
TEST_P(DataContract, EvalFractionDividesTheSet) {
  const auto whole = make();
  for (double fraction : {0.01, 0.2, 0.5}) {
    const auto train = make(Split::train, fraction);
    const auto eval = make(Split::eval, fraction);
    EXPECT_GE(eval->size(), 1);
    EXPECT_GE(train->size(), 1);
    EXPECT_EQ(train->size() + eval->size(), whole->size());
    EXPECT_NEAR(static_cast<double>(eval->size()), fraction * static_cast<double>(whole->size()), 1.0);
    std::multiset<test::Sample> expected;
    std::multiset<test::Sample> parts;
    for (std::int64_t i = 0; i < whole->size(); ++i) expected.insert(test::read_sample(*whole, i));
    for (const auto* set : {train.get(), eval.get()}) {
      for (std::int64_t i = 0; i < set->size(); ++i) parts.insert(test::read_sample(*set, i));
    }
    EXPECT_EQ(parts, expected);
  }
}

std::string prose(std::size_t bytes) {
  std::string text;
  while (text.size() < bytes) text += "line " + std::to_string(text.size()) + " of a text\n";
  return text.substr(0, bytes);
}

OptionValues text_options(const std::filesystem::path& folder) {
  return {{"path", std::vector{test::write_file(folder / "a.txt", prose(1000)),
                               test::write_file(folder / "b.txt", prose(777))}}};
}

OptionValues idx_options(const std::filesystem::path& folder) {
  std::string pixels;
  std::string labels;
  for (int i = 0; i < 60; ++i) {
    labels.push_back(static_cast<char>(i % 7));
    for (int p = 0; p < 12; ++p) pixels.push_back(static_cast<char>(i * 12 + p * p));
  }
  return {{"images", test::write_gzip(folder / "images.gz", test::idx({60, 3, 4}, pixels))},
          {"labels", test::write_file(folder / "labels", test::idx({60}, labels))}};
}

auto synthetic_options(const std::string& task) {
  return [task](const std::filesystem::path&) { return OptionValues{{"task", task}, {"samples", std::int64_t{100}}}; };
}

INSTANTIATE_TEST_SUITE_P(
    DataSets, DataContract,
    testing::Values(Implementation{"text", "text", text_options}, Implementation{"idx", "idx", idx_options},
                    Implementation{"classification", "synthetic", synthetic_options("classification")},
                    Implementation{"regression", "synthetic", synthetic_options("regression")},
                    Implementation{"tokens", "synthetic", synthetic_options("tokens")}),
    [](const auto& test) { return test.param.label; });

}  // namespace
}  // namespace dtrain
