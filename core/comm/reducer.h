// SPDX-License-Identifier: Apache-2.0
//
// Sums the gradients of all lanes of all ranks.
#pragma once

#include <dtrain/comm.h>

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "core/comm/lane_tree.h"

namespace dtrain {

// The sum over a node's lanes: a whole flat fp32 vector.
struct LanePart {
  LaneNode node;
  float* data = nullptr;
};

// A range of the flat vector that is reduced in one piece. Rank r owns the slice [cuts[r], cuts[r + 1]) of it.
struct Bucket {
  std::vector<std::size_t> cuts;  // size() + 1 ascending element offsets
};

// Once a step: begin, start for every bucket in ascending order, finish. Called by the thread that trains; a comm
// thread of the reducer's own does the work and is the only one to use the group meanwhile. The reducer itself
// allocates nothing in the steady state.
class Reducer {
 public:
  virtual ~Reducer() = default;  // aborts the group when a step is open

  // `lane_present[l]`: lane l has work this step, the same on all ranks. `parts`: this rank's maximal nodes with a
  // present lane, in order; they stay alive until finish() returns or throws and are never written. `out` is complete
  // on all ranks after finish().
  virtual void begin(std::span<const LanePart> parts, const std::vector<bool>& lane_present, std::span<float> out) = 0;
  virtual void start(std::size_t bucket) = 0;  // all parts are final in it; returns at once
  // Throws RecoverableError (see Work) or InvariantError: the group is then aborted, `out` is undefined, the parts are
  // as they were, and nothing touches either any more.
  virtual void finish() = 0;
};

// The owner of a slice fetches the maximal nodes of that slice from all ranks, folds them in tree order, and sends the
// result to all: the same bits for every world size (a NaN is a NaN everywhere; its payload is not promised). `group`
// is null on one rank. `owners[r]`: the lanes of rank r, contiguous and in order of ranks. Collective: the ranks
// compare what they were given, and InvariantError names two that differ.
std::unique_ptr<Reducer> make_canonical_reducer(Communicator* group, std::vector<LaneRange> owners, int lanes,
                                                std::vector<Bucket> buckets);

// Folds the rank's own parts, then the backend's all-reduce. UserError when the backend has none. Collective, as above.
std::unique_ptr<Reducer> make_native_reducer(Communicator* group, std::vector<LaneRange> owners, int lanes,
                                             std::vector<Bucket> buckets);

}  // namespace dtrain
