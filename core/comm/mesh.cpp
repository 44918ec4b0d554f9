// SPDX-License-Identifier: Apache-2.0
#include "core/comm/mesh.h"

#include <dtrain/error.h>

namespace dtrain {

std::string_view name_of(MeshAxis axis) {
  static constexpr std::array<std::string_view, 3> kNames = {"pp", "dp", "tp"};
  return kNames[static_cast<std::size_t>(axis)];
}

Mesh::Mesh(int pp, int dp, int tp) : degrees_{pp, dp, tp} {
  DTRAIN_CHECK(pp >= 1 && dp >= 1 && tp >= 1,
               "mesh of " + std::to_string(pp) + " x " + std::to_string(dp) + " x " + std::to_string(tp));
}

Mesh::Coordinate Mesh::coordinate_of(int rank) const {
  DTRAIN_CHECK(rank >= 0 && rank < size(), "rank " + std::to_string(rank) + " of " + std::to_string(size()));
  const auto [pp, dp, tp] = degrees_;
  return {.pp = rank / (dp * tp) % pp, .dp = rank / tp % dp, .tp = rank % tp};
}

int Mesh::rank_of(const Coordinate& coordinate) const {
  const auto [pp, dp, tp] = degrees_;
  DTRAIN_CHECK(coordinate.pp >= 0 && coordinate.pp < pp && coordinate.dp >= 0 && coordinate.dp < dp &&
               coordinate.tp >= 0 && coordinate.tp < tp);
  return (coordinate.pp * dp + coordinate.dp) * tp + coordinate.tp;
}

Mesh::Group Mesh::group_of(int rank, MeshAxis axis) const {
  const auto where = coordinate_of(rank);
  const auto [pp, dp, tp] = degrees_;
  Group group;
  int number = 0;
  auto member = where;
  switch (axis) {
    case MeshAxis::pp:
      number = where.dp * tp + where.tp;
      for (member.pp = 0; member.pp < pp; ++member.pp) group.ranks.push_back(rank_of(member));
      break;
    case MeshAxis::dp:
      number = where.pp * tp + where.tp;
      for (member.dp = 0; member.dp < dp; ++member.dp) group.ranks.push_back(rank_of(member));
      break;
    case MeshAxis::tp:
      number = where.pp * dp + where.dp;
      for (member.tp = 0; member.tp < tp; ++member.tp) group.ranks.push_back(rank_of(member));
      break;
  }
  group.name = std::string(name_of(axis)) + "-" + std::to_string(number);
  return group;
}

std::vector<Mesh::Group> Mesh::groups(MeshAxis axis) const {
  std::vector<Group> all;
  for (int rank = 0; rank < size(); ++rank) {
    auto group = group_of(rank, axis);
    if (group.ranks.front() == rank) all.push_back(std::move(group));
  }
  return all;
}

}  // namespace dtrain
