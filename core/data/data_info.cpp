// SPDX-License-Identifier: Apache-2.0
#include "core/data/data_info.h"

#include <dtrain/error.h>

namespace dtrain {
namespace {

std::string describe(const DataInfo& info) {
  std::string out;
  for (const auto& field : info.fields) out += (out.empty() ? "" : ", ") + dtrain::describe(field);
  return out;
}

}  // namespace

std::string describe(const FieldSpec& field) {
  std::string out = field.name + " " + std::string(name_of(field.type)) + "[";
  for (std::size_t i = 0; i < field.shape.size(); ++i) out += (i == 0 ? "" : ",") + std::to_string(field.shape[i]);
  return out + "]";
}

DataInfo common_info(std::span<const NamedInfo> sets) {
  DTRAIN_CHECK(!sets.empty());
  const auto& first = sets.front();
  std::string differences;
  for (const auto& other : sets.subspan(1)) {
    auto compare = [&](const std::string& what, const std::string& a, const std::string& b) {
      if (a != b) differences += "\n  " + what + ": " + first.name + " has " + a + ", " + other.name + " has " + b;
    };
    compare("fields", describe(*first.info), describe(*other.info));
    compare("vocab_size", std::to_string(first.info->vocab_size), std::to_string(other.info->vocab_size));
    compare("num_classes", std::to_string(first.info->num_classes), std::to_string(other.info->num_classes));
    compare("seq_len", std::to_string(first.info->seq_len), std::to_string(other.info->seq_len));
  }
  if (!differences.empty()) {
    throw UserError("the data sets of one run must agree, but differ in:" + differences,
                    "change the options of the sources, or leave one out");
  }
  return *first.info;
}

}  // namespace dtrain
