// SPDX-License-Identifier: Apache-2.0
#include "core/comm/group_factory.h"

#include <dtrain/error.h>

#include <algorithm>
#include <numeric>

namespace dtrain {

GroupFactory::GroupFactory(Setup setup) : setup_(std::move(setup)) {}
GroupFactory::~GroupFactory() = default;

CommunicatorPtr GroupFactory::world() {
  Mesh::Group all{.name = "world", .ranks = std::vector<int>(static_cast<std::size_t>(setup_.world))};
  std::iota(all.ranks.begin(), all.ranks.end(), 0);
  return make(all);
}

CommunicatorPtr GroupFactory::make(const Mesh::Group& group) {
  const auto self = std::find(group.ranks.begin(), group.ranks.end(), setup_.rank);
  DTRAIN_CHECK(self != group.ranks.end(), "rank " + std::to_string(setup_.rank) + " is not in group " + group.name);
  if (group.ranks.size() == 1) return nullptr;
  Rendezvous* rendezvous = nullptr;
  if (setup_.rendezvous != nullptr) {
    const auto prefix = "generation-" + std::to_string(setup_.generation) + "/" + group.name + "/";
    rendezvous_.push_back(std::make_unique<PrefixRendezvous>(*setup_.rendezvous, prefix));
    rendezvous = rendezvous_.back().get();
  }
  return setup_.backend(CommContext{.rank = static_cast<int>(self - group.ranks.begin()),
                                    .size = static_cast<int>(group.ranks.size()),
                                    .generation = setup_.generation,
                                    .group = group.name,
                                    .timeout = setup_.timeout,
                                    .rendezvous = rendezvous});
}

}  // namespace dtrain
