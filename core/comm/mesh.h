// SPDX-License-Identifier: Apache-2.0
//
// The ranks of a run as a grid of parallel axes, and the groups along each axis.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dtrain {

// From the outermost to the innermost: neighbouring ranks are in one tensor-parallel group.
enum class MeshAxis : std::uint8_t { pp, dp, tp };

std::string_view name_of(MeshAxis axis);

// pp x dp x tp ranks; rank = (pp * DP + dp) * TP + tp. A value.
class Mesh {
 public:
  struct Coordinate {
    int pp = 0, dp = 0, tp = 0;
    bool operator==(const Coordinate&) const = default;
  };

  // One group: ranks that differ in one coordinate only, in order of it.
  struct Group {
    std::string name;        // the axis and the group's number among those of the axis: "dp-0"
    std::vector<int> ranks;  // of the world; the position is the rank in the group
  };

  // Degrees of at least 1; InvariantError otherwise.
  Mesh(int pp, int dp, int tp);

  int size() const { return degrees_[0] * degrees_[1] * degrees_[2]; }
  int degree(MeshAxis axis) const { return degrees_[static_cast<std::size_t>(axis)]; }

  Coordinate coordinate_of(int rank) const;
  int rank_of(const Coordinate& coordinate) const;

  // The group of `axis` that `rank` is in. InvariantError: no such rank.
  Group group_of(int rank, MeshAxis axis) const;
  // All groups of an axis, in order of their numbers. Each rank is in exactly one.
  std::vector<Group> groups(MeshAxis axis) const;

 private:
  std::array<int, 3> degrees_;
};

}  // namespace dtrain
