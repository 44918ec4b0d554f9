// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <set>
#include <string>

#include <gloo/rendezvous/context.h>

#include <dtrain/comm.h>

#include "address.h"
#include "recording.h"

namespace dtrain::gloo_plugin {

// A group over TCP: a full mesh of connections, one thread of Gloo's own that moves data.
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
  void check_usable(int peer) const;

  CommContext context_;
  std::set<std::string, std::less<>> capabilities_{"all_reduce", "broadcast"};
  std::shared_ptr<BufferRegistry> registry_ = std::make_shared<BufferRegistry>();
  std::shared_ptr<gloo::rendezvous::Context> mesh_;
};

}  // namespace dtrain::gloo_plugin
