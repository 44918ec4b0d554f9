// SPDX-License-Identifier: Apache-2.0
#include "cli/sample_text.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <numeric>

namespace dtrain::cli {
namespace {

constexpr std::size_t kMaxElements = 12;
constexpr std::size_t kMaxBytes = 160;
constexpr std::string_view kHex = "0123456789abcdef";

template <class T>
T load(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return value;
}

// IEEE 754 binary16.
double half(std::uint16_t bits) {
  const double sign = (bits & 0x8000) != 0 ? -1 : 1;
  const int exponent = bits >> 10 & 31;
  const int fraction = bits & 1023;
  if (exponent == 0) return sign * fraction * 0x1.0p-24;
  if (exponent == 31)
    return fraction != 0 ? std::bit_cast<float>(0x7fc00000u) : sign * std::bit_cast<float>(0x7f800000u);
  return sign * std::bit_cast<float>(static_cast<std::uint32_t>((exponent + 112) << 23 | fraction << 13));
}

double element(DType type, const std::byte* at) {
  switch (type) {
    case DType::f32:
      return load<float>(at);
    case DType::f64:
      return load<double>(at);
    case DType::f16:
      return half(load<std::uint16_t>(at));
    case DType::bf16:
      return std::bit_cast<float>(std::uint32_t{load<std::uint16_t>(at)} << 16);
    case DType::i64:
      return static_cast<double>(load<std::int64_t>(at));
    case DType::i32:
      return load<std::int32_t>(at);
    case DType::u16:
      return load<std::uint16_t>(at);
    case DType::u8:
      return load<std::uint8_t>(at);
  }
  return 0;
}

// Everything but printable ASCII becomes an escape: a terminal shows what is there.
std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text.substr(0, kMaxBytes)) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (c == '"' || c == '\\') {
      out += {'\\', c};
    } else if (byte < 0x20 || byte >= 0x7f) {
      out += {'\\', 'x', kHex[byte >> 4], kHex[byte & 15]};
    } else {
      out += c;
    }
  }
  out += '"';
  if (text.size() > kMaxBytes) out += " ... (" + std::to_string(text.size()) + " bytes)";
  return out;
}

bool is_integer(DType type) {
  return type == DType::i64 || type == DType::i32 || type == DType::u16 || type == DType::u8;
}

}  // namespace

std::string number_text(double value) {
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::general, 6).ptr;
  return std::string(text.data(), end);
}

std::vector<double> numbers_of(const FieldSpec& field, std::span<const std::byte> bytes) {
  std::vector<double> out;
  for (std::size_t at = 0; at < bytes.size(); at += size_of(field.type))
    out.push_back(element(field.type, bytes.data() + at));
  return out;
}

std::string sample_text(const FieldSpec& field, std::span<const std::byte> bytes, const Tokenizer* tokenizer) {
  const auto numbers = numbers_of(field, bytes);
  const auto [low, high] = std::minmax_element(numbers.begin(), numbers.end());
  if (tokenizer != nullptr && is_integer(field.type) && field.shape.size() == 1 && !numbers.empty() && *low >= 0 &&
      *high < static_cast<double>(tokenizer->vocab_size())) {
    return quoted(tokenizer->decode(std::vector<std::int32_t>(numbers.begin(), numbers.end())));
  }
  std::string out;
  for (std::size_t i = 0; i < std::min(numbers.size(), kMaxElements); ++i) {
    out += (i == 0 ? "" : ", ") + number_text(numbers[i]);
  }
  if (numbers.size() > kMaxElements) {
    const double sum = std::accumulate(numbers.begin(), numbers.end(), 0.0);
    out += " ... (" + std::to_string(numbers.size()) + " elements, " + number_text(*low) + " to " + number_text(*high) +
           ", mean " + number_text(sum / static_cast<double>(numbers.size())) + ")";
  }
  return out;
}

}  // namespace dtrain::cli
