// SPDX-License-Identifier: Apache-2.0
#include "core/comm/exchange.h"

#include <dtrain/error.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>

#include "core/comm/tags.h"
#include "core/comm/work_list.h"

namespace dtrain {
namespace {

// Messages up to this size travel with their length in one fixed frame; the rest follows. A commit of a small model is
// one round trip that way.
constexpr std::size_t kInline = 4096 - sizeof(std::uint64_t);

struct Frame {
  std::uint64_t size = 0;
  std::byte bytes[kInline] = {};
};

}  // namespace

std::vector<std::vector<std::byte>> all_gather_bytes(Communicator& group, std::span<const std::byte> mine) {
  const auto world = static_cast<std::size_t>(group.size());
  const auto self = static_cast<std::size_t>(group.rank());
  std::vector<std::vector<std::byte>> all(world);
  all[self].assign(mine.begin(), mine.end());

  std::vector<Frame> frames(world);
  frames[self].size = mine.size();
  std::copy_n(mine.begin(), std::min(mine.size(), kInline), frames[self].bytes);
  WorkList works(group);
  auto each_peer = [&](auto&& action) {
    for (std::size_t peer = 0; peer < world; ++peer) {
      if (peer != self) action(peer, static_cast<int>(peer));
    }
  };
  each_peer([&](std::size_t peer, int rank) {
    works.add(group.receive(std::as_writable_bytes(std::span(&frames[peer], 1)), rank, tags::kSize));
    works.add(group.send(std::as_bytes(std::span(&frames[self], 1)), rank, tags::kSize));
  });
  works.wait();
  each_peer([&](std::size_t peer, int rank) {
    auto& bytes = all[peer];
    bytes.resize(frames[peer].size);
    std::copy_n(frames[peer].bytes, std::min(bytes.size(), kInline), bytes.begin());
    if (bytes.size() > kInline) works.add(group.receive(std::span(bytes).subspan(kInline), rank, tags::kBytes));
    if (mine.size() > kInline) works.add(group.send(mine.subspan(kInline), rank, tags::kBytes));
  });
  works.wait();
  return all;
}

void barrier(Communicator& group) {
  all_gather_bytes(group, {});
}

void broadcast(Communicator& group, std::span<std::byte> buffer, int root) {
  const int world = group.size();
  const int relative = (group.rank() - root + world) % world;  // the root is 0 in the tree
  auto rank_of = [&](int position) { return (position + root) % world; };
  const std::uint64_t size = buffer.size();
  std::uint64_t heard = 0;
  WorkList works(group);

  int step = 1;  // distance to the children that come next; the parent clears the lowest bit
  while (step < world && (relative & step) == 0) step <<= 1;
  if (relative != 0) {
    const int parent = rank_of(relative - step);
    works.add(group.receive(std::as_writable_bytes(std::span(&heard, 1)), parent, tags::kBroadcast));
    works.wait();
    if (heard != size) group.abort();  // the ranks below wait for data that will not come
    DTRAIN_CHECK(heard == size, "broadcast from rank " + std::to_string(root) + ": rank " + std::to_string(parent) +
                                    " has " + std::to_string(heard) + " bytes, rank " + std::to_string(group.rank()) +
                                    " expects " + std::to_string(size));
    works.add(group.receive(buffer, parent, tags::kBroadcast + 1));
    works.wait();
  }
  for (step >>= 1; step > 0; step >>= 1) {
    if (relative + step >= world) continue;
    const int child = rank_of(relative + step);
    works.add(group.send(std::as_bytes(std::span(&size, 1)), child, tags::kBroadcast));
    works.add(group.send(buffer, child, tags::kBroadcast + 1));
  }
  works.wait();
}

}  // namespace dtrain
