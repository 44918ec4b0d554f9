// SPDX-License-Identifier: Apache-2.0
//
// What the ranks of one in-memory group share.
#pragma once

#include <dtrain/comm.h>
#include <dtrain/error.h>

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace dtrain {

// One lock guards everything. Any thread.
class MemoryGroup {
 public:
  // Reads and writes of a rank's buffers happen under the lock and only while its operation is open.
  struct Operation {
    std::string name;  // "send of 4 bytes to rank 1"
    std::exception_ptr error;
    bool done = false;  // complete or failed
    int rank = 0;
    int peer = -1;  // of a message
  };
  using OperationPtr = std::shared_ptr<Operation>;

  MemoryGroup(int size, std::string name) : name_(std::move(name)), ranks_(static_cast<std::size_t>(size)) {}

  int size() const { return static_cast<int>(ranks_.size()); }

  void join(int rank);
  void leave(int rank) noexcept;  // abort

  OperationPtr send(int rank, std::span<const std::byte> bytes, int peer, std::uint64_t tag);
  OperationPtr receive(int rank, std::span<std::byte> bytes, int peer, std::uint64_t tag);
  OperationPtr all_reduce(int rank, void* data, std::size_t count, DType type, ReduceOp op);
  OperationPtr broadcast(int rank, std::span<std::byte> bytes, int root);

  void wait(Operation& operation, std::chrono::milliseconds timeout);
  bool done(const Operation& operation) const;

 private:
  enum class State : std::uint8_t { absent, joined, left };
  struct Rank {
    State state = State::absent;
    std::uint64_t collectives = 0;  // started so far
  };
  struct Message {
    OperationPtr operation;
    std::uint64_t tag = 0;
    std::span<const std::byte> source;  // of a send
    std::span<std::byte> target;        // of a receive
    bool is_send = false;
  };
  struct Contribution {
    OperationPtr operation;
    std::span<std::byte> bytes;
  };
  // The n-th collective of the group, open until all ranks have come.
  struct Collective {
    std::uint64_t number = 0;
    std::string signature;  // what all ranks must agree on
    int first_rank = 0;
    std::vector<std::optional<Contribution>> by_rank;
  };
  struct CollectiveKind {
    std::string signature;
    std::optional<DType> type;  // of an all-reduce
    ReduceOp op = ReduceOp::sum;
    int root = 0;  // of a broadcast
  };

  OperationPtr open(int rank, int peer, std::string name) const;
  OperationPtr post(Message message);
  OperationPtr contribute(int rank, std::span<std::byte> bytes, const CollectiveKind& kind);
  static void compute(const Collective& collective, const CollectiveKind& kind);
  void check_alive(int rank, const std::string& name) const;
  void fail(Operation& operation, RecoverableError::Kind kind, const std::string& why, int peer) const;

  const std::string name_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Rank> ranks_;
  std::list<Message> messages_;  // not matched yet, in the order in which they were started
  std::list<Collective> collectives_;
};

}  // namespace dtrain
