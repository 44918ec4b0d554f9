// SPDX-License-Identifier: Apache-2.0
//
// Forms groups of some of a run's ranks with whatever backend the plan names.
#pragma once

#include <dtrain/comm.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/comm/mesh.h"

namespace dtrain {

using CommunicatorPtr = std::unique_ptr<Communicator, std::function<void(Communicator*)>>;

// A rendezvous below a prefix, so that groups and generations that share one never see each other's keys. Any thread if
// the inner one allows it.
class PrefixRendezvous final : public Rendezvous {
 public:
  PrefixRendezvous(Rendezvous& inner, std::string prefix) : inner_(inner), prefix_(std::move(prefix)) {}

  void set(const std::string& key, std::span<const std::byte> value) override { inner_.set(prefix_ + key, value); }
  std::vector<std::byte> get(const std::string& key, std::chrono::milliseconds timeout) override {
    return inner_.get(prefix_ + key, timeout);
  }

 private:
  Rendezvous& inner_;
  std::string prefix_;
};

// For one rank of one generation. Used by one thread at a time; outlives the groups it made.
class GroupFactory {
 public:
  // Makes a communicator; PluginLoader::create<CommKind>() bound to the plan's component, or MemoryHub::join().
  using Backend = std::function<CommunicatorPtr(const CommContext&)>;

  struct Setup {
    int rank = 0;  // in the world
    int world = 1;
    std::uint64_t generation = 0;
    std::chrono::milliseconds timeout{30'000};
    Rendezvous* rendezvous = nullptr;  // outlives the factory
    Backend backend;
  };

  explicit GroupFactory(Setup setup);
  ~GroupFactory();

  // Collective over the members. Null for a group of one: there is nobody to talk to.
  CommunicatorPtr world();
  CommunicatorPtr make(const Mesh::Group& group);  // InvariantError: this rank is not a member

 private:
  Setup setup_;
  std::vector<std::unique_ptr<PrefixRendezvous>> rendezvous_;
};

}  // namespace dtrain
