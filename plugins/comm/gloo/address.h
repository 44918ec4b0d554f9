// SPDX-License-Identifier: Apache-2.0
//
// Which local address a rank listens on and tells the others.
#pragma once

#include <string>

namespace dtrain::gloo_plugin {

struct AddressOptions {
  std::string interface;  // name of a network interface of this host
  std::string address;    // host name or literal address of this host; brackets around IPv6 are allowed
};

struct LocalAddress {
  std::string text;  // numeric
  int family = 0;    // AF_INET or AF_INET6
  bool loopback = false;
};

// With neither option: 127.0.0.1, right for all ranks on one node and refused by HostCard's check otherwise. Where an
// interface or a name has several addresses: one that other hosts can route to before one that they cannot, then IPv4
// before IPv6. UserError: both options, an interface that this host lacks (lists those it has), a name that does not
// resolve, an address that is not this host's.
LocalAddress resolve(const AddressOptions& options);

}  // namespace dtrain::gloo_plugin
