// SPDX-License-Identifier: Apache-2.0
//
// What a rank tells the others about itself before anybody connects.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "address.h"

namespace dtrain::gloo_plugin {

struct HostCard {
  std::string host_name;
  std::string host;  // identity: boot id and network namespace; equal where a loopback address reaches
  LocalAddress address;
  std::vector<std::string> ports;  // by rank: Gloo's own form of the address at which that rank is expected

  std::string who(int rank) const;  // "rank 1 on host beta (10.0.0.2)"
};

// Of this process, without ports.
HostCard this_host(const LocalAddress& address);

std::vector<std::byte> encode(const HostCard& card);
HostCard decode(std::span<const std::byte> bytes);  // InvariantError: damaged

// UserError, naming both ends: a loopback address where ranks are on several hosts, or both address families.
void check_reachable(const std::vector<HostCard>& cards);

}  // namespace dtrain::gloo_plugin
