// SPDX-License-Identifier: Apache-2.0
//
// One object of a LocalStore, being written or read.
#pragma once

#include <dtrain/store.h>

#include <cstdint>
#include <filesystem>

#include "posix_file.h"

namespace dtrain {

class LocalWriter final : public ObjectWriter {
 public:
  LocalWriter(std::filesystem::path path, std::filesystem::path unfinished);
  ~LocalWriter() override;

  void write(std::span<const std::byte> bytes) override;
  void finish() override;

 private:
  std::filesystem::path path_, unfinished_;
  posix::File file_;
  std::uint64_t written_ = 0;
  bool finished_ = false;
};

class LocalReader final : public ObjectReader {
 public:
  explicit LocalReader(std::filesystem::path path);

  std::uint64_t size() const override { return size_; }
  void read(std::uint64_t offset, std::span<std::byte> out) const override;

 private:
  std::filesystem::path path_;
  posix::File file_;
  std::uint64_t size_ = 0;
};

}  // namespace dtrain
