// SPDX-License-Identifier: Apache-2.0
//
// Small collectives over send and receive, for any backend. Collective over the whole group; thread rules are the
// group's. After an exception (RecoverableError of a lost peer, a timeout or an abort) the group is aborted.
#pragma once

#include <dtrain/comm.h>

#include <cstddef>
#include <span>
#include <vector>

namespace dtrain {

// Every rank's bytes, by rank. Sizes may differ.
std::vector<std::vector<std::byte>> all_gather_bytes(Communicator& group, std::span<const std::byte> mine);

// Returns when every rank has entered.
void barrier(Communicator& group);

// `buffer` of `root` on all ranks, along a binomial tree. InvariantError, naming both ranks and sizes: a rank gave
// another size than the one that it hears from.
void broadcast(Communicator& group, std::span<std::byte> buffer, int root);

}  // namespace dtrain
