// SPDX-License-Identifier: Apache-2.0
#include "core/base/hash.h"

#include <dtrain/error.h>
#include <openssl/evp.h>
#include <xxhash.h>

#include <array>

namespace dtrain {

struct Sha256::State {
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context{EVP_MD_CTX_new(), &EVP_MD_CTX_free};
};

Sha256::Sha256() : state_(std::make_unique<State>()) {
  DTRAIN_CHECK(state_->context != nullptr && EVP_DigestInit_ex(state_->context.get(), EVP_sha256(), nullptr) == 1,
               "libcrypto offers no SHA-256");
}
Sha256::~Sha256() = default;
Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;

void Sha256::update(std::span<const std::byte> bytes) {
  DTRAIN_CHECK(EVP_DigestUpdate(state_->context.get(), bytes.data(), bytes.size()) == 1);
}

std::string Sha256::hex() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
  unsigned int size = 0;
  DTRAIN_CHECK(EVP_DigestFinal_ex(state_->context.get(), digest.data(), &size) == 1 && size == 32);
  constexpr std::string_view digits = "0123456789abcdef";
  std::string out;
  for (unsigned int i = 0; i < size; ++i) {
    out.push_back(digits[digest[i] >> 4]);
    out.push_back(digits[digest[i] & 15]);
  }
  return out;
}

std::string sha256_hex(std::span<const std::byte> bytes) {
  Sha256 hash;
  hash.update(bytes);
  return hash.hex();
}

std::string sha256_hex(std::string_view text) {
  return sha256_hex(std::as_bytes(std::span(text)));
}

struct Xxh3::State {
  std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> state{XXH3_createState(), &XXH3_freeState};
};

Xxh3::Xxh3() : state_(std::make_unique<State>()) {
  DTRAIN_CHECK(state_->state != nullptr);
  reset();
}
Xxh3::~Xxh3() = default;
Xxh3::Xxh3(Xxh3&&) noexcept = default;
Xxh3& Xxh3::operator=(Xxh3&&) noexcept = default;

void Xxh3::update(std::span<const std::byte> bytes) {
  DTRAIN_CHECK(XXH3_64bits_update(state_->state.get(), bytes.data(), bytes.size()) == XXH_OK);
}
std::uint64_t Xxh3::digest() const {
  return XXH3_64bits_digest(state_->state.get());
}
void Xxh3::reset() {
  DTRAIN_CHECK(XXH3_64bits_reset(state_->state.get()) == XXH_OK);
}

std::uint64_t xxh3_64(std::span<const std::byte> bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

}  // namespace dtrain
