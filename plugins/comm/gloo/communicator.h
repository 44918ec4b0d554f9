// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dtrain/comm.h>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "mesh.h"

namespace dtrain::gloo_plugin {

// A group over TCP: a full mesh of connections, one thread of Gloo's own that moves data and one that watches.
// Collectives are complete when they return.
//
// The peer that an error names is the one at whose connection this rank noticed it: a peer that has aborted looks like
// a dead one. Messages of different sizes never match: both sides run into the time limit.
class GlooCommunicator final : public Communicator {
 public:
  struct Options {
    std::string interface;
    std::string address;
    constexpr void describe(Schema& s) {
      s.operational("interface", interface, "network interface to use; empty: the loopback address");
      s.operational("address", address, "host name or address of this host to listen on, instead of an interface");
    }
  };

  GlooCommunicator(const CommContext& context, const Options& options);
  ~GlooCommunicator() override;

  int rank() const override { return context_.rank; }
  int size() const override { return context_.size; }
  const std::set<std::string, std::less<>>& capabilities() const override { return capabilities_; }

  std::unique_ptr<Work> send(std::span<const std::byte> buffer, int peer, std::uint64_t tag) override;
  std::unique_ptr<Work> receive(std::span<std::byte> buffer, int peer, std::uint64_t tag) override;
  std::unique_ptr<Work> all_reduce(void* data, std::size_t count, DType type, ReduceOp op) override;
  std::unique_ptr<Work> broadcast(std::span<std::byte> buffer, int root) override;
  void abort() noexcept override;

 private:
  std::unique_ptr<Work> start(void* data, std::size_t bytes, int peer, std::uint64_t tag, Direction direction);
  void run(const std::string& name, const std::function<void()>& collective);

  CommContext context_;
  std::set<std::string, std::less<>> capabilities_{"all_reduce", "broadcast"};
  std::shared_ptr<Mesh> mesh_;
  std::shared_ptr<std::atomic<int>> in_flight_ = std::make_shared<std::atomic<int>>(0);  // messages
  std::mutex collective_;                                                                // held while one runs
};

}  // namespace dtrain::gloo_plugin
