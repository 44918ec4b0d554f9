// SPDX-License-Identifier: Apache-2.0
#include "core/comm/group_factory.h"

#include <dtrain/error.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "core/comm/exchange.h"
#include "core/comm/memory_transport.h"
#include "tests/contract/comm/board.h"

namespace dtrain {
namespace {

using testing::ElementsAre;

CommunicatorPtr owned(std::unique_ptr<Communicator> group) {
  return {group.release(), [](Communicator* c) { delete c; }};
}

// 2 x 2 x 2 ranks as threads; each talks along its three axes and to all.
TEST(GroupFactory, RanksMeetAlongEachAxis) {
  const Mesh mesh(2, 2, 2);
  MemoryHub hub;
  std::vector<std::vector<std::vector<int>>> heard(8);
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < 8; ++rank) {
    threads.emplace_back([&, rank] {
      GroupFactory factory(
          {.rank = rank, .world = 8, .generation = 4, .rendezvous = nullptr, .backend = [&hub](const CommContext& c) {
             return owned(hub.join(c));
           }});
      std::vector<CommunicatorPtr> groups;
      for (const auto axis : {MeshAxis::pp, MeshAxis::dp, MeshAxis::tp})
        groups.push_back(factory.make(mesh.group_of(rank, axis)));
      groups.push_back(factory.world());
      for (const auto& group : groups) {
        std::vector<int> ranks;
        for (const auto& bytes : all_gather_bytes(*group, std::as_bytes(std::span(&rank, 1))))
          ranks.push_back(std::to_integer<int>(bytes[0]));
        heard[static_cast<std::size_t>(rank)].push_back(ranks);
      }
    });
  }
  threads.clear();
  EXPECT_THAT(heard[5], ElementsAre(ElementsAre(1, 5), ElementsAre(5, 7), ElementsAre(4, 5),
                                    ElementsAre(0, 1, 2, 3, 4, 5, 6, 7)));
  for (int rank = 0; rank < 8; ++rank) {
    EXPECT_EQ(heard[static_cast<std::size_t>(rank)][1], mesh.group_of(rank, MeshAxis::dp).ranks);
  }
}

TEST(GroupFactory, TellsTheBackendWhereTheRankStands) {
  test::MemoryBoard board;
  CommContext seen;
  GroupFactory factory({.rank = 5,
                        .world = 8,
                        .generation = 9,
                        .timeout = std::chrono::milliseconds(77),
                        .rendezvous = &board,
                        .backend = [&seen](const CommContext& context) {
                          seen = context;
                          context.rendezvous->set("key", {});
                          return CommunicatorPtr();
                        }});
  factory.make({.name = "dp-3", .ranks = {1, 5, 7}});
  EXPECT_EQ(seen.rank, 1);
  EXPECT_EQ(seen.size, 3);
  EXPECT_EQ(seen.generation, 9u);
  EXPECT_EQ(seen.group, "dp-3");
  EXPECT_EQ(seen.timeout, std::chrono::milliseconds(77));
  EXPECT_NO_THROW(board.get("generation-9/dp-3/key", std::chrono::milliseconds(0)));
}

TEST(GroupFactory, AGroupOfOneNeedsNobody) {
  GroupFactory factory({.rank = 2, .world = 3, .backend = [](const CommContext&) -> CommunicatorPtr {
                          throw std::runtime_error("asked");
                        }});
  EXPECT_EQ(factory.make({.name = "tp-2", .ranks = {2}}), nullptr);
}

TEST(GroupFactory, RefusesAGroupOfOthers) {
  GroupFactory factory({.rank = 2, .world = 3, .backend = {}});
  EXPECT_THROW(factory.make({.name = "tp-0", .ranks = {0, 1}}), InvariantError);
}

}  // namespace
}  // namespace dtrain
