// SPDX-License-Identifier: Apache-2.0
//
// A process turns itself into a host of its own: network, host name, /etc/hosts. All of it ends with the process.
#pragma once

#include <string>

#include "tests/contract/comm/seat.h"

namespace dtrain::test {

// Why namespaces cannot be made here; empty when they can. Makes the calling process root of a user namespace where it
// is not root. Called once, before threads.
std::string why_no_hosts();

// Called by both ranks of a test before anything else. Afterwards each has the interface "wire" with `address_0` or
// `address_1` (with prefix length; several are separated by blanks), and the host name "alpha" or "beta".
void become_host(const Seat& seat, const std::string& address_0, const std::string& address_1);

// This host's /etc/hosts.
void set_hosts_file(const std::string& text);

// Runs `ip` with these arguments in this host; a failure of the test when it fails.
void ip(const std::string& arguments);

}  // namespace dtrain::test
