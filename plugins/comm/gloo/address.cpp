// SPDX-License-Identifier: Apache-2.0
#include "address.h"

#include <cerrno>
#include <cstring>
#include <ifaddrs.h>
#include <memory>
#include <netdb.h>
#include <set>
#include <sys/socket.h>
#include <unistd.h>

#include <dtrain/error.h>

namespace dtrain::gloo_plugin {
namespace {

std::set<std::string> interface_names() {
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return {};
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(list, &::freeifaddrs);
  std::set<std::string> names;
  for (const auto* entry = list; entry != nullptr; entry = entry->ifa_next) {
    const bool usable = entry->ifa_addr != nullptr &&
                        (entry->ifa_addr->sa_family == AF_INET || entry->ifa_addr->sa_family == AF_INET6);
    if (usable) names.insert(entry->ifa_name);
  }
  return names;
}

// Whether a socket can be bound to it, which is what makes an address this host's own.
bool is_own(const addrinfo& info) {
  const int fd = ::socket(info.ai_family, info.ai_socktype | SOCK_CLOEXEC, info.ai_protocol);
  if (fd < 0) return false;
  const bool bound = ::bind(fd, info.ai_addr, info.ai_addrlen) == 0;
  ::close(fd);
  return bound;
}

}  // namespace

gloo::transport::tcp::attr resolve(const AddressOptions& options) {
  if (!options.interface.empty() && !options.address.empty()) {
    throw UserError("comm: both interface = \"" + options.interface + "\" and address = \"" + options.address + "\"",
                    "keep one of the two");
  }
  gloo::transport::tcp::attr attr("127.0.0.1");
  if (!options.interface.empty()) {
    const auto names = interface_names();
    if (!names.contains(options.interface)) {
      std::string list;
      for (const auto& name : names) list += (list.empty() ? "" : ", ") + name;
      throw UserError("comm.interface: this host has no network interface '" + options.interface + "'",
                      "the interfaces with an address are: " + list);
    }
    attr = gloo::transport::tcp::attr();
    attr.iface = options.interface;
    return attr;
  }
  if (options.address.empty()) return attr;

  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  if (const int error = ::getaddrinfo(options.address.c_str(), nullptr, &hints, &list); error != 0) {
    throw UserError("comm.address: '" + options.address + "' cannot be resolved: " + ::gai_strerror(error),
                    "give a name or address of this host, or comm.interface");
  }
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(list, &::freeaddrinfo);
  for (const auto* info = list; info != nullptr; info = info->ai_next) {
    if (!is_own(*info)) continue;
    char text[NI_MAXHOST];
    ::getnameinfo(info->ai_addr, info->ai_addrlen, text, sizeof(text), nullptr, 0, NI_NUMERICHOST);
    attr.hostname = text;
    attr.ai_family = info->ai_family;
    return attr;
  }
  throw UserError("comm.address: '" + options.address + "' is not an address of this host",
                  "give a name or address of this host, or comm.interface");
}

}  // namespace dtrain::gloo_plugin
