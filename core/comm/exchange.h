// SPDX-License-Identifier: Apache-2.0
//
// Small collectives over send and receive, for any backend. Collective over the whole group; thread rules are the group's.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <dtrain/comm.h>

namespace dtrain {

// Every rank's bytes, by rank. Sizes may differ. RecoverableError when a peer is lost.
std::vector<std::vector<std::byte>> all_gather_bytes(Communicator& group, std::span<const std::byte> mine);

// Returns when every rank has entered.
void barrier(Communicator& group);

// `buffer` of `root` on all ranks; the same size everywhere.
void broadcast(Communicator& group, std::span<std::byte> buffer, int root);

}  // namespace dtrain
