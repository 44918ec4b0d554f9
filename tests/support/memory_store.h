// SPDX-License-Identifier: Apache-2.0
//
// A Store in memory: quick, and its objects can be damaged at will.
#pragma once

#include <dtrain/store.h>

#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace dtrain {

class MemoryStore final : public Store {
 public:
  std::map<std::string, std::string> objects;

  std::unique_ptr<ObjectWriter> create(const std::string& key) override { return std::make_unique<Writer>(*this, key); }
  std::unique_ptr<ObjectReader> open(const std::string& key) const override {
    const std::lock_guard lock(mutex_);
    const auto it = objects.find(key);
    if (it == objects.end()) fail("no object " + key);
    return std::make_unique<Reader>(key, it->second);
  }
  bool exists(const std::string& key) const override {
    const std::lock_guard lock(mutex_);
    return objects.contains(key);
  }
  std::vector<ObjectInfo> list(const std::string& prefix) const override {
    const std::lock_guard lock(mutex_);
    std::vector<ObjectInfo> out;
    for (const auto& [key, text] : objects) {
      if (prefix.empty() || key.starts_with(prefix + "/")) out.push_back({key, text.size()});
    }
    return out;
  }
  void remove(const std::string& prefix) override {
    const std::lock_guard lock(mutex_);
    std::erase_if(objects, [&](const auto& o) { return o.first == prefix || o.first.starts_with(prefix + "/"); });
  }
  void publish(const std::string& staging, const std::string& final_prefix) override {
    if (!list(final_prefix).empty()) fail(final_prefix + " exists");
    if (list(staging).empty()) fail(staging + " does not exist");
    const std::lock_guard lock(mutex_);
    std::map<std::string, std::string> moved;
    for (auto& [key, text] : objects) {
      const bool below = key.starts_with(staging + "/");
      moved[below ? final_prefix + key.substr(staging.size()) : key] = std::move(text);
    }
    objects = std::move(moved);
  }

 private:
  [[noreturn]] static void fail(const std::string& text) {
    throw RecoverableError(RecoverableError::Kind::store_unavailable, "store memory: " + text);
  }

  class Writer final : public ObjectWriter {
   public:
    Writer(MemoryStore& store, std::string key) : store_(store), key_(std::move(key)) {}
    void write(std::span<const std::byte> bytes) override {
      text_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    }
    void finish() override {
      const std::lock_guard lock(store_.mutex_);
      store_.objects[key_] = std::move(text_);
    }

   private:
    MemoryStore& store_;
    std::string key_, text_;
  };

  class Reader final : public ObjectReader {
   public:
    Reader(std::string key, std::string text) : key_(std::move(key)), text_(std::move(text)) {}
    std::uint64_t size() const override { return text_.size(); }
    void read(std::uint64_t offset, std::span<std::byte> out) const override {
      if (offset > text_.size() || out.size() > text_.size() - offset) fail(key_ + " ends before");
      if (!out.empty()) std::memcpy(out.data(), text_.data() + offset, out.size());
    }

   private:
    std::string key_, text_;
  };

  mutable std::mutex mutex_;
};

}  // namespace dtrain
