// SPDX-License-Identifier: Apache-2.0
#include "core/comm/memory_transport.h"

#include <dtrain/error.h>

#include "core/comm/memory_group.h"

namespace dtrain {
namespace {

class MemoryWork final : public Work {
 public:
  MemoryWork(std::shared_ptr<MemoryGroup> group, MemoryGroup::OperationPtr operation, std::chrono::milliseconds timeout)
      : group_(std::move(group)), operation_(std::move(operation)), timeout_(timeout) {}

  void wait(Stream) override { group_->wait(*operation_, timeout_); }
  bool done() const override { return group_->done(*operation_); }

 private:
  std::shared_ptr<MemoryGroup> group_;
  MemoryGroup::OperationPtr operation_;
  std::chrono::milliseconds timeout_;
};

class MemoryCommunicator final : public Communicator {
 public:
  MemoryCommunicator(std::shared_ptr<MemoryGroup> group, const CommContext& context,
                     MemoryHub::Capabilities capabilities)
      : group_(std::move(group)),
        rank_(context.rank),
        timeout_(context.timeout),
        capabilities_(std::move(capabilities)) {}
  ~MemoryCommunicator() override { group_->leave(rank_); }

  int rank() const override { return rank_; }
  int size() const override { return group_->size(); }
  const std::set<std::string, std::less<>>& capabilities() const override { return capabilities_; }

  std::unique_ptr<Work> send(std::span<const std::byte> buffer, int peer, std::uint64_t tag) override {
    return work(group_->send(rank_, buffer, peer, tag));
  }
  std::unique_ptr<Work> receive(std::span<std::byte> buffer, int peer, std::uint64_t tag) override {
    return work(group_->receive(rank_, buffer, peer, tag));
  }
  std::unique_ptr<Work> all_reduce(void* data, std::size_t count, DType type, ReduceOp op) override {
    return work(group_->all_reduce(rank_, data, count, type, op));
  }
  std::unique_ptr<Work> broadcast(std::span<std::byte> buffer, int root) override {
    return work(group_->broadcast(rank_, buffer, root));
  }
  void abort() noexcept override { group_->leave(rank_); }

 private:
  std::unique_ptr<Work> work(MemoryGroup::OperationPtr operation) const {
    return std::make_unique<MemoryWork>(group_, std::move(operation), timeout_);
  }

  std::shared_ptr<MemoryGroup> group_;
  int rank_;
  std::chrono::milliseconds timeout_;
  MemoryHub::Capabilities capabilities_;
};

}  // namespace

MemoryHub::MemoryHub(Capabilities capabilities) : capabilities_(std::move(capabilities)) {}
MemoryHub::~MemoryHub() = default;

std::unique_ptr<Communicator> MemoryHub::join(const CommContext& context) {
  DTRAIN_CHECK(context.size > 0 && context.rank >= 0 && context.rank < context.size,
               "rank " + std::to_string(context.rank) + " of " + std::to_string(context.size));
  const std::lock_guard lock(mutex_);
  auto& group = groups_[{context.generation, context.group}];
  if (!group) {
    group = std::make_shared<MemoryGroup>(context.size,
                                          context.group + " of generation " + std::to_string(context.generation));
  }
  DTRAIN_CHECK(group->size() == context.size, "rank " + std::to_string(context.rank) + " joins group " + context.group +
                                                  " with size " + std::to_string(context.size) +
                                                  ", another rank with " + std::to_string(group->size()));
  group->join(context.rank);
  return std::make_unique<MemoryCommunicator>(group, context, capabilities_);
}

}  // namespace dtrain
