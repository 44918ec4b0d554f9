// SPDX-License-Identifier: Apache-2.0
//
// The ABI tag of a kind: "interface=<hash> compiler=<family> cxxabi=<n> stdlib=<name> sanitizer=<name>", and for kinds that
// use it " libtorch=<version>". The host accepts a component only if its tag equals the host's own, field by field. The
// hashes are those of the interface headers without comments and blanks (abi_hashes.h, written by CMake).
#pragma once

#include <string>
#include <string_view>

#include <dtrain/abi_hashes.h>

namespace dtrain::abi {

constexpr std::string_view compiler() {
#if defined(__GNUC__) || defined(__clang__)
  return "itanium";  // g++ and clang++ share the Itanium C++ ABI and may be mixed
#else
  return "unknown";
#endif
}

constexpr std::string_view stdlib() {
#if defined(_GLIBCXX_USE_CXX11_ABI) && _GLIBCXX_USE_CXX11_ABI
  return "libstdc++-cxx11";
#elif defined(__GLIBCXX__)
  return "libstdc++-old";
#else
  return "libc++";
#endif
}

constexpr std::string_view sanitizer() {
#if defined(__SANITIZE_ADDRESS__)
  return "address";
#elif defined(__SANITIZE_THREAD__)
  return "thread";
#else
  return "none";
#endif
}

constexpr std::string tag(std::string_view interface_hash, std::string_view libtorch = {}) {
  std::string out = "interface=";
  out += interface_hash;
  out += " compiler=";
  out += compiler();
  out += " stdlib=";
  out += stdlib();
  out += " sanitizer=";
  out += sanitizer();
  if (!libtorch.empty()) {
    out += " libtorch=";
    out += libtorch;
  }
  return out;
}

}  // namespace dtrain::abi
