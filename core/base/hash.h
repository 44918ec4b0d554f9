// SPDX-License-Identifier: Apache-2.0
//
// Hashes. SHA-256 (FIPS 180-4) names content: recipes, plans, checkpoints. XXH3 (64 bits, https://xxhash.com) finds
// damage: it runs at memory speed and protects nobody from an attacker. Each object is used by one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace dtrain {

class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;

  void update(std::span<const std::byte> bytes);
  void update(std::string_view text) { update(std::as_bytes(std::span(text))); }

  // 64 lower-case hexadecimal digits. Ends the object: nothing may be called afterwards.
  std::string hex();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

std::string sha256_hex(std::span<const std::byte> bytes);
std::string sha256_hex(std::string_view text);

class Xxh3 {
 public:
  Xxh3();
  ~Xxh3();
  Xxh3(Xxh3&&) noexcept;
  Xxh3& operator=(Xxh3&&) noexcept;

  void update(std::span<const std::byte> bytes);
  std::uint64_t digest() const;  // of the bytes since the last reset
  void reset();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

std::uint64_t xxh3_64(std::span<const std::byte> bytes);

}  // namespace dtrain
