// SPDX-License-Identifier: Apache-2.0
//
// Data plugins and their files for tests.
#pragma once

#include <dtrain/data.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/contract/plugin_component.h"
#include "tests/support/temp_folder.h"

namespace dtrain::test {

inline PluginComponent<DataKind> data_plugin(const std::string& name) {
  return {DTRAIN_PLUGINS "/data_" + name + ".so", name};
}

inline const Tokenizer& bytes_tokenizer() {
  static const PluginComponent<TokenizerKind> component(DTRAIN_PLUGINS "/tokenizer_bytes.so", "bytes");
  static const auto tokenizer = component.make({});
  return *tokenizer;
}

// One sample: the bytes of each field.
using Sample = std::vector<std::vector<std::byte>>;

inline Sample read_sample(const DataSet& set, std::int64_t index, std::uint64_t draws_key = 5,
                          std::byte before = std::byte{0xA5}) {
  Sample sample;
  std::vector<std::span<std::byte>> out;
  for (const auto& field : set.info().fields) sample.emplace_back(field.bytes(), before);
  for (auto& bytes : sample) out.emplace_back(bytes);
  rng::Stream draws(draws_key, static_cast<std::uint64_t>(index));
  set.read(index, draws, out);
  return sample;
}

template <class T>
std::vector<T> values(const std::vector<std::byte>& bytes) {
  std::vector<T> out(bytes.size() / sizeof(T));
  std::memcpy(out.data(), bytes.data(), out.size() * sizeof(T));
  return out;
}

inline std::string write_file(const std::filesystem::path& path, const std::string& bytes) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << bytes;
  return path.string();
}

inline std::string write_gzip(const std::filesystem::path& path, const std::string& bytes) {
  gzFile file = ::gzopen(path.c_str(), "wb");
  ::gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size()));
  ::gzclose(file);
  return path.string();
}

inline std::string read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// An IDX file of unsigned bytes.
inline std::string idx(const std::vector<std::uint32_t>& shape, const std::string& bytes, int type = 8) {
  std::string out = {'\0', '\0', static_cast<char>(type), static_cast<char>(shape.size())};
  for (auto n : shape) {
    for (int shift = 24; shift >= 0; shift -= 8) out.push_back(static_cast<char>(n >> shift));
  }
  return out + bytes;
}

template <class F>
std::string message_of(F&& f) {
  try {
    f();
  } catch (const UserError& e) {
    EXPECT_EQ(e.exit_code(), 2);
    EXPECT_FALSE(e.hint().empty());
    return e.message();
  }
  return "no error";
}

}  // namespace dtrain::test
