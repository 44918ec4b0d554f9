// SPDX-License-Identifier: Apache-2.0
#include "core/comm/mesh.h"

#include <dtrain/error.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace dtrain {
namespace {

using testing::ElementsAre;

TEST(Mesh, TensorParallelIsInnermost) {
  const Mesh mesh(2, 3, 4);
  EXPECT_EQ(mesh.size(), 24);
  EXPECT_EQ(mesh.coordinate_of(0), (Mesh::Coordinate{0, 0, 0}));
  EXPECT_EQ(mesh.coordinate_of(1), (Mesh::Coordinate{0, 0, 1}));
  EXPECT_EQ(mesh.coordinate_of(4), (Mesh::Coordinate{0, 1, 0}));
  EXPECT_EQ(mesh.coordinate_of(12), (Mesh::Coordinate{1, 0, 0}));
  for (int rank = 0; rank < 24; ++rank) EXPECT_EQ(mesh.rank_of(mesh.coordinate_of(rank)), rank);
}

TEST(Mesh, GroupsOfARank) {
  const Mesh mesh(2, 3, 4);
  const int rank = mesh.rank_of({.pp = 1, .dp = 2, .tp = 3});
  const auto pp = mesh.group_of(rank, MeshAxis::pp), dp = mesh.group_of(rank, MeshAxis::dp),
             tp = mesh.group_of(rank, MeshAxis::tp);
  EXPECT_THAT(pp.ranks, ElementsAre(11, 23));
  EXPECT_THAT(dp.ranks, ElementsAre(15, 19, 23));
  EXPECT_THAT(tp.ranks, ElementsAre(20, 21, 22, 23));
  EXPECT_EQ(pp.name, "pp-11");
  EXPECT_EQ(dp.name, "dp-7");
  EXPECT_EQ(tp.name, "tp-5");
}

TEST(Mesh, GroupsOfAnAxisPartitionTheRanks) {
  for (const auto& mesh : {Mesh(1, 1, 1), Mesh(1, 5, 1), Mesh(2, 3, 4), Mesh(3, 1, 2)}) {
    for (const auto axis : {MeshAxis::pp, MeshAxis::dp, MeshAxis::tp}) {
      std::set<int> ranks;
      std::set<std::string> names;
      const auto groups = mesh.groups(axis);
      for (std::size_t i = 0; i < groups.size(); ++i) {
        EXPECT_EQ(groups[i].name, std::string(name_of(axis)) + "-" + std::to_string(i));
        EXPECT_EQ(static_cast<int>(groups[i].ranks.size()), mesh.degree(axis));
        names.insert(groups[i].name);
        for (const int rank : groups[i].ranks) {
          EXPECT_TRUE(ranks.insert(rank).second);
          EXPECT_EQ(mesh.group_of(rank, axis).name, groups[i].name);
        }
      }
      EXPECT_EQ(static_cast<int>(ranks.size()), mesh.size());
      EXPECT_EQ(names.size(), groups.size());
    }
  }
}

TEST(Mesh, RefusesWhatIsNotThere) {
  EXPECT_THROW(Mesh(0, 1, 1), InvariantError);
  const Mesh mesh(1, 2, 2);
  EXPECT_THROW(mesh.coordinate_of(4), InvariantError);
  EXPECT_THROW(mesh.coordinate_of(-1), InvariantError);
  EXPECT_THROW(mesh.rank_of({.pp = 1, .dp = 0, .tp = 0}), InvariantError);
}

}  // namespace
}  // namespace dtrain
