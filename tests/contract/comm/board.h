// SPDX-License-Identifier: Apache-2.0
//
// Rendezvous for tests: within a process, and between processes through a folder.
#pragma once

#include <dtrain/comm.h>
#include <dtrain/error.h>

#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace dtrain::test {

class MemoryBoard final : public Rendezvous {
 public:
  void set(const std::string& key, std::span<const std::byte> value) override {
    const std::lock_guard lock(mutex_);
    values_[key].assign(value.begin(), value.end());
    changed_.notify_all();
  }
  std::vector<std::byte> get(const std::string& key, std::chrono::milliseconds timeout) override {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, timeout, [&] { return values_.contains(key); })) {
      throw RecoverableError(RecoverableError::Kind::timeout, "nobody has set " + key);
    }
    return values_[key];
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, std::vector<std::byte>> values_;
};

// A key is a file, put in place whole.
class FolderBoard final : public Rendezvous {
 public:
  explicit FolderBoard(std::filesystem::path folder) : folder_(std::move(folder)) {}

  void set(const std::string& key, std::span<const std::byte> value) override {
    const auto part = folder_ / (file_of(key) + ".part");
    std::ofstream(part, std::ios::binary)
        .write(reinterpret_cast<const char*>(value.data()), static_cast<std::streamsize>(value.size()));
    std::filesystem::rename(part, folder_ / file_of(key));
  }
  std::vector<std::byte> get(const std::string& key, std::chrono::milliseconds timeout) override {
    const auto end = std::chrono::steady_clock::now() + timeout;
    while (!std::filesystem::exists(folder_ / file_of(key))) {
      if (std::chrono::steady_clock::now() >= end) {
        throw RecoverableError(RecoverableError::Kind::timeout, "nobody has set " + key);
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    std::ifstream file(folder_ / file_of(key), std::ios::binary);
    const std::string text((std::istreambuf_iterator<char>(file)), {});
    const auto bytes = std::as_bytes(std::span(text));
    return {bytes.begin(), bytes.end()};
  }

 private:
  static std::string file_of(std::string key) {
    for (auto& c : key) c = c == '/' ? '_' : c;
    return key;
  }

  std::filesystem::path folder_;
};

}  // namespace dtrain::test
