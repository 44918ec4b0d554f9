// SPDX-License-Identifier: Apache-2.0
//
// Reads little-endian fields from bytes that nobody vouches for. Every read is checked against what is left; a read
// past the end throws DamagedBytes with the offset, so that the caller can say which file it was.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

namespace dtrain {

class DamagedBytes final : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class ByteCursor {
 public:
  explicit ByteCursor(std::span<const std::byte> bytes) : bytes_(bytes) {}

  std::size_t offset() const { return offset_; }
  std::size_t left() const { return bytes_.size() - offset_; }

  std::span<const std::byte> take(std::uint64_t count) {
    if (count > left()) {
      fail("needs " + std::to_string(count) + " bytes, " + std::to_string(left()) + " are left");
    }
    const auto part = bytes_.subspan(offset_, static_cast<std::size_t>(count));
    offset_ += part.size();
    return part;
  }

  std::uint8_t u8() { return static_cast<std::uint8_t>(take(1)[0]); }
  std::uint32_t u32() { return static_cast<std::uint32_t>(integer(4)); }
  std::uint64_t u64() { return integer(8); }
  double f64() { return std::bit_cast<double>(u64()); }

  // A u32 length and that many bytes. Points into the bytes.
  std::string_view string() {
    const auto text = take(u32());
    return {reinterpret_cast<const char*>(text.data()), text.size()};
  }

  // A u32 count of elements that take at least `smallest` bytes each.
  std::uint32_t count(std::size_t smallest) {
    const auto n = u32();
    if (n > left() / smallest) fail("a list of " + std::to_string(n) + " elements does not fit");
    return n;
  }

  [[noreturn]] void fail(const std::string& what) const {
    throw DamagedBytes("at byte " + std::to_string(offset_) + ": " + what);
  }

 private:
  std::uint64_t integer(int width) {
    const auto part = take(static_cast<std::uint64_t>(width));
    std::uint64_t value = 0;
    for (int i = 0; i < width; ++i) value |= static_cast<std::uint64_t>(part[static_cast<std::size_t>(i)]) << (8 * i);
    return value;
  }

  std::span<const std::byte> bytes_;
  std::size_t offset_ = 0;
};

}  // namespace dtrain
