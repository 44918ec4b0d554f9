// SPDX-License-Identifier: Apache-2.0
//
// Which local address a rank listens on and advertises.
#pragma once

#include <string>

#include <gloo/transport/tcp/attr.h>

namespace dtrain::gloo_plugin {

struct AddressOptions {
  std::string interface;  // name of a network interface; its first address is used
  std::string address;    // host name or literal address of this host
};

// With neither option: 127.0.0.1, since all ranks of a run are on one node. UserError: both options, an unknown interface (lists
// those there are), an address that is not this host's.
gloo::transport::tcp::attr resolve(const AddressOptions& options);

}  // namespace dtrain::gloo_plugin
