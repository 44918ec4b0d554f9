// SPDX-License-Identifier: Apache-2.0
#include "core/comm/exchange.h"

#include <cstdint>
#include <cstring>
#include <memory>

#include "core/comm/tags.h"

namespace dtrain {
namespace {

using Works = std::vector<std::unique_ptr<Work>>;

void wait_all(const Works& works) {
  for (const auto& work : works) work->wait();
}

// Messages up to this size travel with their length in one fixed frame; the rest follows. A commit of a small model is one
// round trip that way.
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
  std::memcpy(frames[self].bytes, mine.data(), std::min(mine.size(), kInline));
  Works works;
  auto each_peer = [&](auto&& action) {
    for (std::size_t peer = 0; peer < world; ++peer) {
      if (peer != self) action(peer);
    }
  };
  each_peer([&](std::size_t peer) {
    const int rank = static_cast<int>(peer);
    works.push_back(group.receive(std::as_writable_bytes(std::span(&frames[peer], 1)), rank, tags::kSize));
    works.push_back(group.send(std::as_bytes(std::span(&frames[self], 1)), rank, tags::kSize));
  });
  wait_all(works);
  works.clear();
  each_peer([&](std::size_t peer) {
    const int rank = static_cast<int>(peer);
    auto& bytes = all[peer];
    bytes.resize(frames[peer].size);
    std::memcpy(bytes.data(), frames[peer].bytes, std::min(bytes.size(), kInline));
    if (bytes.size() > kInline) {
      works.push_back(group.receive(std::span(bytes).subspan(kInline), rank, tags::kBytes));
    }
    if (mine.size() > kInline) works.push_back(group.send(mine.subspan(kInline), rank, tags::kBytes));
  });
  wait_all(works);
  return all;
}

void barrier(Communicator& group) { all_gather_bytes(group, {}); }

void broadcast(Communicator& group, std::span<std::byte> buffer, int root) {
  Works works;
  if (group.rank() != root) {
    works.push_back(group.receive(buffer, root, tags::kBroadcast));
  } else {
    for (int peer = 0; peer < group.size(); ++peer) {
      if (peer != root) works.push_back(group.send(buffer, peer, tags::kBroadcast));
    }
  }
  wait_all(works);
}

}  // namespace dtrain
