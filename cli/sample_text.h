// SPDX-License-Identifier: Apache-2.0
//
// One field of one sample for people.
#pragma once

#include <dtrain/data.h>
#include <dtrain/tokenizer.h>

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace dtrain::cli {

std::string number_text(double value);  // six significant digits

// The elements as numbers; every integer type is exact below 2^53.
std::vector<double> numbers_of(const FieldSpec& field, std::span<const std::byte> bytes);

// "\"text\\n\"" for a row of tokens, where there is a tokenizer and the ids are in its vocabulary; else "3", or "0,
// 0.5, 1" or, beyond 12 elements, the first ones and "... (784 elements, -0.4 to 2.1, mean 0.3)". At most about 200
// characters.
std::string sample_text(const FieldSpec& field, std::span<const std::byte> bytes, const Tokenizer* tokenizer);

}  // namespace dtrain::cli
