// SPDX-License-Identifier: Apache-2.0
#include "address.h"

#include <dtrain/error.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <memory>
#include <optional>
#include <set>

namespace dtrain::gloo_plugin {
namespace {

constexpr const char* kHint = "give a name or address of this host, or comm.interface";

bool is_ip(const sockaddr* address) {
  return address != nullptr && (address->sa_family == AF_INET || address->sa_family == AF_INET6);
}

socklen_t length_of(const sockaddr* address) {
  return address->sa_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
}

bool is_loopback(const sockaddr* address) {
  if (address->sa_family == AF_INET) {
    return ntohl(reinterpret_cast<const sockaddr_in*>(address)->sin_addr.s_addr) >> 24 == 127;
  }
  return IN6_IS_ADDR_LOOPBACK(&reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr);
}

bool is_link_local(const sockaddr* address) {
  if (address->sa_family == AF_INET) {
    return ntohl(reinterpret_cast<const sockaddr_in*>(address)->sin_addr.s_addr) >> 16 == 0xa9fe;  // RFC 3927
  }
  return IN6_IS_ADDR_LINKLOCAL(&reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr);
}

// Smaller is better.
int rank_of(const sockaddr* address) {
  const int reach = is_loopback(address) ? 2 : is_link_local(address) ? 1 : 0;
  return 2 * reach + (address->sa_family == AF_INET6 ? 1 : 0);
}

LocalAddress describe(const sockaddr* address) {
  char text[NI_MAXHOST];
  ::getnameinfo(address, length_of(address), text, sizeof(text), nullptr, 0, NI_NUMERICHOST);
  return {text, address->sa_family, is_loopback(address)};
}

// The best address seen so far.
class Choice {
 public:
  void offer(const sockaddr* address) {
    if (rank_of(address) >= rank_) return;
    rank_ = rank_of(address);
    best_ = describe(address);
  }
  const std::optional<LocalAddress>& best() const { return best_; }

 private:
  int rank_ = 6;
  std::optional<LocalAddress> best_;
};

LocalAddress of_interface(const std::string& name) {
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) throw UserError(std::string("comm.interface: getifaddrs: ") + std::strerror(errno));
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(list, &::freeifaddrs);
  Choice choice;
  std::set<std::string> names;
  for (const auto* entry = list; entry != nullptr; entry = entry->ifa_next) {
    if (!is_ip(entry->ifa_addr)) continue;
    names.insert(entry->ifa_name);
    if (name == entry->ifa_name) choice.offer(entry->ifa_addr);
  }
  if (choice.best()) return *choice.best();
  std::string known;
  for (const auto& other : names) known += (known.empty() ? "" : ", ") + other;
  throw UserError("comm.interface: this host has no network interface '" + name + "' with an address",
                  "the interfaces with an address are: " + known);
}

// Whether a socket can be bound to it, which is what makes an address this host's own.
bool is_own(const addrinfo& info) {
  const int fd = ::socket(info.ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return false;
  const bool bound = ::bind(fd, info.ai_addr, info.ai_addrlen) == 0;
  ::close(fd);
  return bound;
}

LocalAddress of_name(std::string name) {
  if (name.size() > 2 && name.front() == '[' && name.back() == ']') name = name.substr(1, name.size() - 2);
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  if (const int error = ::getaddrinfo(name.c_str(), nullptr, &hints, &list); error != 0) {
    throw UserError("comm.address: '" + name + "' cannot be resolved: " + ::gai_strerror(error), kHint);
  }
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(list, &::freeaddrinfo);
  Choice choice;
  std::string found;
  for (const auto* info = list; info != nullptr; info = info->ai_next) {
    if (!is_ip(info->ai_addr)) continue;
    found += (found.empty() ? "" : ", ") + describe(info->ai_addr).text;
    if (is_own(*info)) choice.offer(info->ai_addr);
  }
  if (choice.best()) return *choice.best();
  const auto meaning = found == name ? "" : " (" + found + ")";
  throw UserError("comm.address: '" + name + "'" + meaning + " is not an address of this host", kHint);
}

}  // namespace

LocalAddress resolve(const AddressOptions& options) {
  if (!options.interface.empty() && !options.address.empty()) {
    throw UserError("comm: both interface = \"" + options.interface + "\" and address = \"" + options.address + "\"",
                    "keep one of the two");
  }
  if (!options.interface.empty()) return of_interface(options.interface);
  if (!options.address.empty()) return of_name(options.address);
  return {"127.0.0.1", AF_INET, true};
}

}  // namespace dtrain::gloo_plugin
