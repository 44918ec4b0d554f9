// SPDX-License-Identifier: Apache-2.0
#include "core/plugin/demangle.h"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>

namespace dtrain {
namespace {

bool in_symbol(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '$';
}

std::string readable(const std::string& symbol) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status),
                                                    &std::free);
  return status == 0 ? text.get() : symbol;
}

}  // namespace

std::string demangled(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    const bool starts = text.substr(i, 2) == "_Z" && (i == 0 || !in_symbol(text[i - 1]));
    if (!starts) {
      out += text[i++];
      continue;
    }
    auto end = i;
    while (end < text.size() && in_symbol(text[end])) ++end;
    out += readable(std::string(text.substr(i, end - i)));
    i = end;
  }
  return out;
}

}  // namespace dtrain
