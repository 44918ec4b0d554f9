// SPDX-License-Identifier: Apache-2.0
//
// Communication between the ranks of one group. Independent of libtorch.
//
// Source of the vocabulary: MPI 4.0, chapters 3 and 6, and NCCL's user guide.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <dtrain/abi.h>
#include <dtrain/device.h>
#include <dtrain/dtype.h>
#include <dtrain/plugin.h>

namespace dtrain {

enum class ReduceOp : std::uint8_t { sum, max, min };

// Handle of one operation in flight. It keeps the right to the operation's buffers until it is complete or aborted: the
// caller must not write (send) or read (receive) them, nor free them, before wait() returns or throws, or abort() returned.
class Work {
 public:
  virtual ~Work() = default;  // never waits; destroying a Work in flight is allowed only after abort()

  // Orders `stream` behind the operation. Blocks the calling thread only on a CPU stream, at most the group's timeout.
  // Throws RecoverableError: peer_lost (with the peer's rank), timeout or aborted. A receive buffer is then undefined, a
  // send buffer untouched.
  virtual void wait(Stream stream = {}) = 0;

  virtual bool done() const = 0;  // never blocks, never throws
};

// Where ranks find each other before they can talk. Keys live for one generation. Any thread.
class Rendezvous {
 public:
  virtual void set(const std::string& key, std::span<const std::byte> value) = 0;
  // Blocks until some rank has set `key`; RecoverableError (timeout) after `timeout`.
  virtual std::vector<std::byte> get(const std::string& key, std::chrono::milliseconds timeout) = 0;

 protected:
  ~Rendezvous() = default;
};

// What a comm plugin is told when a group is formed.
struct CommContext {
  int rank = 0;
  int size = 1;
  std::uint64_t generation = 0;      // of the membership; part of every rendezvous key
  std::string group = "world";       // "world", or a mesh axis and coordinate such as "dp-0"
  std::chrono::milliseconds timeout{30'000};
  Rendezvous* rendezvous = nullptr;  // outlives the communicator
};

// One rank's end of a group. Constructed collectively by all ranks of the group.
//
// Threads: operations are started by one thread at a time (the comm thread of a worker); wait() may be called from another;
// abort() from any. Operations between the same two ranks with the same tag match in the order in which they were started.
// Order of collectives is the same on all ranks, and every rank passes the same count, dtype and op: a backend that can tell
// a mismatch throws InvariantError that names both.
// Failure: after any RecoverableError the group is unusable; the owner calls abort() and forms a group of the next
// generation.
class Communicator {
 public:
  virtual ~Communicator() = default;  // aborts what is in flight; does not communicate

  virtual int rank() const = 0;
  virtual int size() const = 0;

  // Names of optional abilities: "all_reduce", "broadcast". The host uses its own algorithm over send and receive for
  // those that are missing.
  virtual const std::set<std::string, std::less<>>& capabilities() const = 0;

  // peer is never this rank. An empty buffer is allowed and still synchronises.
  virtual std::unique_ptr<Work> send(std::span<const std::byte> buffer, int peer, std::uint64_t tag) = 0;
  virtual std::unique_ptr<Work> receive(std::span<std::byte> buffer, int peer, std::uint64_t tag) = 0;

  // In place over `count` elements. The order of additions is the backend's own: only reduction = "native" uses it.
  // Requires the capability of the same name.
  virtual std::unique_ptr<Work> all_reduce(void* data, std::size_t count, DType type, ReduceOp op) = 0;
  virtual std::unique_ptr<Work> broadcast(std::span<std::byte> buffer, int root) = 0;

  // Ends every wait of this rank in about a millisecond; they throw RecoverableError (aborted). After it returns no buffer
  // of this group is read or written by the backend, and every later operation throws. Idempotent.
  virtual void abort() noexcept = 0;
};

struct CommKind {
  static constexpr std::string_view name = "comm";
  using Interface = Communicator;
  using Context = CommContext;
  static constexpr std::string tag() { return abi::tag(DTRAIN_ABI_HASH_COMM); }
};

template <class T, class Options = NoOptions>
constexpr ComponentDeclaration comm(std::string_view name) {
  return component<CommKind, T, Options>(name);
}

}  // namespace dtrain
