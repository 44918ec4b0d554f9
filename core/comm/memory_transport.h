// SPDX-License-Identifier: Apache-2.0
//
// Communication between ranks that are threads of one process: for tests, and the stub for a group of one rank.
#pragma once

#include <dtrain/comm.h>

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>

namespace dtrain {

class MemoryGroup;

// Where the ranks of one process meet. A group is known by its generation and its name; groups know nothing of each
// other. Messages are copied once, from the sender's buffer to the receiver's, by whoever comes second. Any thread.
class MemoryHub {
 public:
  using Capabilities = std::set<std::string, std::less<>>;

  // `capabilities`: those of its communicators, out of "all_reduce" and "broadcast".
  explicit MemoryHub(Capabilities capabilities = {"all_reduce", "broadcast"});
  ~MemoryHub();
  MemoryHub(const MemoryHub&) = delete;
  MemoryHub& operator=(const MemoryHub&) = delete;

  // This rank's end of the group; returns at once, and operations wait for ranks that have not joined. The rendezvous
  // is not used. The communicator may outlive the hub. A communicator that is destroyed or aborted is a lost peer for
  // the others. InvariantError: the rank is there already, or another rank has joined with another size.
  std::unique_ptr<Communicator> join(const CommContext& context);

 private:
  Capabilities capabilities_;
  std::mutex mutex_;
  std::map<std::pair<std::uint64_t, std::string>, std::shared_ptr<MemoryGroup>> groups_;
};

}  // namespace dtrain
