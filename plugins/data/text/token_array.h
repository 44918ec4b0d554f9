// SPDX-License-Identifier: Apache-2.0
//
// A long row of token ids in the narrowest unsigned type that holds the vocabulary.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <variant>
#include <vector>

// Immutable once built; then any thread.
class TokenArray {
 public:
  explicit TokenArray(std::int64_t vocab_size) {
    if (vocab_size <= 0x100) {
      tokens_ = std::vector<std::uint8_t>();
    } else if (vocab_size <= 0x10000) {
      tokens_ = std::vector<std::uint16_t>();
    } else {
      tokens_ = std::vector<std::uint32_t>();
    }
  }

  void append(std::span<const std::int32_t> more) {
    std::visit(
        [&]<class T>(std::vector<T>& row) {
          const auto old = row.size();
          row.resize(old + more.size());
          for (std::size_t i = 0; i < more.size(); ++i) row[old + i] = static_cast<T>(more[i]);
        },
        tokens_);
  }

  std::int64_t size() const {
    return std::visit([](const auto& row) { return static_cast<std::int64_t>(row.size()); }, tokens_);
  }

  // `out` holds i32 and gets the tokens from `first` on.
  void copy(std::int64_t first, std::span<std::byte> out) const {
    std::visit(
        [&](const auto& row) {
          const auto* from = row.data() + first;
          for (std::size_t i = 0; i * 4 < out.size(); ++i) {
            const auto token = static_cast<std::int32_t>(from[i]);
            std::memcpy(out.data() + i * 4, &token, 4);
          }
        },
        tokens_);
  }

 private:
  std::variant<std::vector<std::uint8_t>, std::vector<std::uint16_t>, std::vector<std::uint32_t>> tokens_;
};
