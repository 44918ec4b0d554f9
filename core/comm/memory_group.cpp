// SPDX-License-Identifier: Apache-2.0
#include "core/comm/memory_group.h"

#include <dtrain/combine.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <utility>

namespace dtrain {
namespace {

using Kind = RecoverableError::Kind;

std::string bytes_text(std::size_t count) {
  return std::to_string(count) + " bytes";
}

std::exception_ptr mismatch(const std::string& one, const std::string& other) {
  return std::make_exception_ptr(
      InvariantError("both sides agree", one + " meets " + other, std::source_location::current()));
}

}  // namespace

void MemoryGroup::join(int rank) {
  const std::lock_guard lock(mutex_);
  auto& state = ranks_.at(static_cast<std::size_t>(rank)).state;
  DTRAIN_CHECK(state == State::absent, "rank " + std::to_string(rank) + " joins group " + name_ + " a second time");
  state = State::joined;
}

void MemoryGroup::fail(Operation& operation, Kind kind, const std::string& why, int peer) const {
  operation.error =
      std::make_exception_ptr(RecoverableError(kind, operation.name + " in group " + name_ + ": " + why, peer));
  operation.done = true;
}

void MemoryGroup::leave(int rank) noexcept {
  const std::lock_guard lock(mutex_);
  auto& state = ranks_[static_cast<std::size_t>(rank)].state;
  if (state == State::left) return;
  state = State::left;
  const auto lost = "rank " + std::to_string(rank) + " has left";
  auto end = [&](Operation& operation) {
    if (operation.rank == rank) {
      fail(operation, Kind::aborted, "aborted", operation.peer);
    } else {
      fail(operation, Kind::peer_lost, lost, rank);
    }
  };
  std::erase_if(messages_, [&](const Message& message) {
    const bool affected = message.operation->rank == rank || message.operation->peer == rank;
    if (affected) end(*message.operation);
    return affected;
  });
  for (const auto& collective : collectives_) {
    for (const auto& contribution : collective.by_rank) {
      if (contribution) end(*contribution->operation);
    }
  }
  collectives_.clear();
  changed_.notify_all();
}

void MemoryGroup::check_alive(int rank, const std::string& name) const {
  if (ranks_[static_cast<std::size_t>(rank)].state == State::left) {
    throw RecoverableError(Kind::aborted, name + " in group " + name_ + ": the group was aborted");
  }
}

MemoryGroup::OperationPtr MemoryGroup::open(int rank, int peer, std::string name) const {
  check_alive(rank, name);
  auto operation = std::make_shared<Operation>();
  operation->name = std::move(name);
  operation->rank = rank;
  operation->peer = peer;
  return operation;
}

MemoryGroup::OperationPtr MemoryGroup::send(int rank, std::span<const std::byte> bytes, int peer, std::uint64_t tag) {
  const std::lock_guard lock(mutex_);
  auto operation = open(rank, peer, "send of " + bytes_text(bytes.size()) + " to rank " + std::to_string(peer));
  return post({.operation = std::move(operation), .tag = tag, .source = bytes, .target = {}, .is_send = true});
}

MemoryGroup::OperationPtr MemoryGroup::receive(int rank, std::span<std::byte> bytes, int peer, std::uint64_t tag) {
  const std::lock_guard lock(mutex_);
  auto operation = open(rank, peer, "receive of " + bytes_text(bytes.size()) + " from rank " + std::to_string(peer));
  return post({.operation = std::move(operation), .tag = tag, .source = {}, .target = bytes, .is_send = false});
}

MemoryGroup::OperationPtr MemoryGroup::post(Message message) {
  auto& operation = *message.operation;
  const auto peer = operation.peer;
  DTRAIN_CHECK(peer >= 0 && peer < size() && peer != operation.rank, "peer " + std::to_string(peer));
  const auto other = std::find_if(messages_.begin(), messages_.end(), [&](const Message& m) {
    return m.is_send != message.is_send && m.tag == message.tag && m.operation->rank == peer &&
           m.operation->peer == operation.rank;
  });
  if (other == messages_.end()) {
    if (ranks_[static_cast<std::size_t>(peer)].state == State::left) {
      fail(operation, Kind::peer_lost, "rank " + std::to_string(peer) + " has left", peer);
    } else {
      messages_.push_back(message);
    }
    return message.operation;
  }
  const auto source = message.is_send ? message.source : other->source;
  const auto target = message.is_send ? other->target : message.target;
  if (source.size() != target.size()) {
    const auto who = [](const Operation& o) { return "rank " + std::to_string(o.rank) + "'s " + o.name; };
    operation.error = other->operation->error = mismatch(who(operation), who(*other->operation));
  } else if (!source.empty()) {
    std::memcpy(target.data(), source.data(), source.size());
  }
  operation.done = other->operation->done = true;
  messages_.erase(other);
  changed_.notify_all();
  return message.operation;
}

MemoryGroup::OperationPtr MemoryGroup::all_reduce(int rank, void* data, std::size_t count, DType type, ReduceOp op) {
  static constexpr const char* kNames[] = {"sum", "max", "min"};
  CollectiveKind kind{.signature = "all-reduce (" + std::string(kNames[static_cast<std::size_t>(op)]) + ") of " +
                                   std::to_string(count) + " elements " + std::string(name_of(type)),
                      .type = type,
                      .op = op};
  return contribute(rank, {static_cast<std::byte*>(data), count * size_of(type)}, kind);
}

MemoryGroup::OperationPtr MemoryGroup::broadcast(int rank, std::span<std::byte> bytes, int root) {
  DTRAIN_CHECK(root >= 0 && root < size(), "root " + std::to_string(root));
  CollectiveKind kind{.signature = "broadcast of " + bytes_text(bytes.size()) + " from rank " + std::to_string(root),
                      .type = {},
                      .root = root};
  return contribute(rank, bytes, kind);
}

MemoryGroup::OperationPtr MemoryGroup::contribute(int rank, std::span<std::byte> bytes, const CollectiveKind& kind) {
  const std::lock_guard lock(mutex_);
  auto operation = open(rank, -1, kind.signature);
  const auto lost = std::find_if(ranks_.begin(), ranks_.end(), [](const Rank& r) { return r.state == State::left; });
  if (lost != ranks_.end()) {
    const auto peer = static_cast<int>(lost - ranks_.begin());
    fail(*operation, Kind::peer_lost, "rank " + std::to_string(peer) + " has left", peer);
    return operation;
  }
  const auto number = ranks_[static_cast<std::size_t>(rank)].collectives++;
  auto it =
      std::find_if(collectives_.begin(), collectives_.end(), [&](const Collective& c) { return c.number == number; });
  if (it == collectives_.end()) {
    collectives_.push_back({number, kind.signature, rank, std::vector<std::optional<Contribution>>(ranks_.size())});
    it = std::prev(collectives_.end());
  }
  auto& present = it->by_rank;
  present[static_cast<std::size_t>(rank)] = Contribution{operation, bytes};
  const bool agreed = it->signature == kind.signature;
  if (agreed && !std::all_of(present.begin(), present.end(), [](const auto& c) { return c.has_value(); })) {
    return operation;
  }
  std::exception_ptr error;
  if (agreed) {
    compute(*it, kind);
  } else {
    error = mismatch("rank " + std::to_string(rank) + "'s " + kind.signature,
                     "rank " + std::to_string(it->first_rank) + "'s " + it->signature);
  }
  for (auto& contribution : present) {
    if (!contribution) continue;
    contribution->operation->error = error;
    contribution->operation->done = true;
  }
  collectives_.erase(it);
  changed_.notify_all();
  return operation;
}

void MemoryGroup::compute(const Collective& collective, const CollectiveKind& kind) {
  const auto& all = collective.by_rank;
  const auto first = all[static_cast<std::size_t>(kind.root)]->bytes;
  if (kind.type) {
    for (std::size_t rank = 1; rank < all.size(); ++rank) {
      combine(first.data(), first.data(), all[rank]->bytes.data(), first.size() / size_of(*kind.type), *kind.type,
              kind.op);
    }
  }
  for (const auto& contribution : all) {
    if (contribution->bytes.data() != first.data() && !first.empty()) {
      std::memcpy(contribution->bytes.data(), first.data(), first.size());
    }
  }
}

void MemoryGroup::wait(Operation& operation, std::chrono::milliseconds timeout) {
  std::unique_lock lock(mutex_);
  if (!changed_.wait_for(lock, timeout, [&] { return operation.done; })) {
    std::erase_if(messages_, [&](const Message& message) { return message.operation.get() == &operation; });
    std::erase_if(collectives_, [&](const Collective& collective) {
      return std::any_of(collective.by_rank.begin(), collective.by_rank.end(),
                         [&](const auto& c) { return c && c->operation.get() == &operation; });
    });
    fail(operation, Kind::timeout, "nothing came within " + std::to_string(timeout.count()) + " ms", operation.peer);
  }
  if (operation.error) std::rethrow_exception(operation.error);
}

bool MemoryGroup::done(const Operation& operation) const {
  const std::lock_guard lock(mutex_);
  return operation.done;
}

}  // namespace dtrain
