// SPDX-License-Identifier: Apache-2.0
#include "core/data/data_info.h"

#include <dtrain/error.h>
#include <gtest/gtest.h>

namespace dtrain {
namespace {

DataInfo tokens(std::int64_t seq_len) {
  return {.fields = {{.name = "input", .type = DType::i32, .shape = {seq_len}},
                     {.name = "target", .type = DType::i32, .shape = {seq_len}}},
          .vocab_size = 256,
          .seq_len = seq_len};
}

TEST(DataInfo, EqualSetsAgree) {
  const auto a = tokens(128);
  const auto b = tokens(128);
  const NamedInfo sets[] = {{"data.train[1] (text)", &a}, {"data.train[2] (text)", &b}};
  EXPECT_EQ(common_info(sets).seq_len, 128);
}

TEST(DataInfo, EveryDifferenceIsListed) {
  const auto a = tokens(128);
  const DataInfo b{.fields = {{.name = "input", .type = DType::f32, .shape = {1, 28, 28}},
                              {.name = "target", .type = DType::i32, .shape = {}}},
                   .num_classes = 10};
  const NamedInfo sets[] = {{"data.train[1] (text)", &a}, {"data.train[2] (idx)", &b}};
  try {
    common_info(sets);
    FAIL();
  } catch (const UserError& e) {
    EXPECT_EQ(e.message(),
              "the data sets of one run must agree, but differ in:\n"
              "  fields: data.train[1] (text) has input I32[128], target I32[128], data.train[2] (idx) has input "
              "F32[1,28,28], target I32[]\n"
              "  vocab_size: data.train[1] (text) has 256, data.train[2] (idx) has 0\n"
              "  num_classes: data.train[1] (text) has 0, data.train[2] (idx) has 10\n"
              "  seq_len: data.train[1] (text) has 128, data.train[2] (idx) has 0");
  }
}

}  // namespace
}  // namespace dtrain
