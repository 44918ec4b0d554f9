// SPDX-License-Identifier: Apache-2.0
#include "core/base/hash.h"

#include <gtest/gtest.h>

namespace dtrain {
namespace {

// Known answers of FIPS 180-4.
TEST(Sha256, KnownAnswers) {
  EXPECT_EQ(sha256_hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(Sha256, PiecesMakeTheWhole) {
  const std::string million(1'000'000, 'a');
  Sha256 hash;
  for (std::size_t begin = 0; begin < million.size(); begin += 777)
    hash.update(std::string_view(million).substr(begin, 777));
  EXPECT_EQ(hash.hex(), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

// Known answer of the reference implementation for no bytes.
TEST(Xxh3, KnownAnswer) {
  EXPECT_EQ(xxh3_64({}), 0x2d06800538d394c2u);
}

TEST(Xxh3, PiecesMakeTheWhole) {
  std::vector<std::byte> bytes(100'000);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * i >> 3);
  Xxh3 hash;
  hash.update(bytes);
  hash.reset();
  for (std::size_t begin = 0; begin < bytes.size();) {
    const auto size = std::min<std::size_t>(begin % 5000 + 1, bytes.size() - begin);
    hash.update(std::span(bytes).subspan(begin, size));
    begin += size;
  }
  EXPECT_EQ(hash.digest(), xxh3_64(bytes));
}

}  // namespace
}  // namespace dtrain
