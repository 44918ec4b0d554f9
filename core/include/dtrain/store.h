// SPDX-License-Identifier: Apache-2.0
//
// Where checkpoints live. Keys are relative paths of segments [A-Za-z0-9._-]+ joined by '/'. Independent of libtorch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <dtrain/abi.h>
#include <dtrain/plugin.h>

namespace dtrain {

struct StoreContext {
  std::string root;  // absolute path or URL of the run's checkpoint folder; need not exist yet
};

struct ObjectInfo {
  std::string key;
  std::uint64_t size = 0;
};

// Failure of any call: RecoverableError (store_unavailable) that names key, operation and the system's error text (and, for
// a full disk, the bytes that were to be written). A failed or abandoned write leaves no object under its key; that of a
// killed process may leave `key`.unfinished, which is listed, so that whoever owns the prefix finds and removes it.
class ObjectWriter {
 public:
  virtual ~ObjectWriter() = default;  // without finish(): nothing remains
  virtual void write(std::span<const std::byte> bytes) = 0;
  virtual void finish() = 0;  // returns when the object is durable
};

class ObjectReader {
 public:
  virtual ~ObjectReader() = default;
  virtual std::uint64_t size() const = 0;
  virtual void read(std::uint64_t offset, std::span<std::byte> out) const = 0;  // exactly out.size() bytes; any thread
};

// Calls may come from several threads, for different keys.
class Store {
 public:
  virtual ~Store() = default;

  virtual std::unique_ptr<ObjectWriter> create(const std::string& key) = 0;
  virtual std::unique_ptr<ObjectReader> open(const std::string& key) const = 0;
  virtual bool exists(const std::string& key) const = 0;

  // All keys below prefix, sorted, as they were at one moment as far as the store can tell: who looks while one prefix is
  // published and then another removed sees at least one of them.
  virtual std::vector<ObjectInfo> list(const std::string& prefix) const = 0;

  virtual void remove(const std::string& prefix) = 0;  // everything below; a missing prefix is fine

  // Makes everything below `staging` appear below `final_prefix`, wholly or not at all, and durably. Fails when
  // `final_prefix` exists.
  virtual void publish(const std::string& staging, const std::string& final_prefix) = 0;
};

struct StoreKind {
  static constexpr std::string_view name = "store";
  using Interface = Store;
  using Context = StoreContext;
  static constexpr std::string tag() { return abi::tag(DTRAIN_ABI_HASH_STORE); }
};

template <class T, class Options = NoOptions>
constexpr ComponentDeclaration store(std::string_view name) {
  return component<StoreKind, T, Options>(name);
}

}  // namespace dtrain
