// SPDX-License-Identifier: Apache-2.0
#include "host_card.h"

#include <dtrain/error.h>
#include <dtrain/schema.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <fstream>

namespace dtrain::gloo_plugin {
namespace {

class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  std::uint32_t number() {
    std::uint32_t value = 0;
    for (int i = 0; i < 4; ++i) value |= std::to_integer<std::uint32_t>(take(1)[0]) << (8 * i);
    return value;
  }
  std::string text() {
    const auto part = take(number());
    return {reinterpret_cast<const char*>(part.data()), part.size()};
  }

 private:
  std::span<const std::byte> take(std::size_t count) {
    DTRAIN_CHECK(count <= bytes_.size(), "a rank's card at the rendezvous is damaged");
    const auto part = bytes_.first(count);
    bytes_ = bytes_.subspan(count);
    return part;
  }

  std::span<const std::byte> bytes_;
};

const char* family_name(int family) {
  return family == AF_INET ? "IPv4" : "IPv6";
}

}  // namespace

std::string HostCard::who(int rank) const {
  return "rank " + std::to_string(rank) + " on host " + host_name + " (" + address.text + ")";
}

HostCard this_host(const LocalAddress& address) {
  HostCard card{.host_name = "?", .host = {}, .address = address, .ports = {}};
  char name[256] = {};
  if (::gethostname(name, sizeof(name) - 1) == 0) card.host_name = name;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> card.host;
  struct stat space {};
  if (::stat("/proc/self/ns/net", &space) == 0) card.host += "/" + std::to_string(space.st_ino);
  return card;
}

std::vector<std::byte> encode(const HostCard& card) {
  std::string out;
  wire::put_string(out, card.host_name);
  wire::put_string(out, card.host);
  wire::put_string(out, card.address.text);
  wire::put_u32(out, static_cast<std::uint32_t>(card.address.family));
  wire::put_u32(out, card.address.loopback ? 1 : 0);
  wire::put_u32(out, card.ports.size());
  for (const auto& port : card.ports) wire::put_string(out, port);
  const auto bytes = std::as_bytes(std::span(out));
  return {bytes.begin(), bytes.end()};
}

HostCard decode(std::span<const std::byte> bytes) {
  Reader in(bytes);
  HostCard card;
  card.host_name = in.text();
  card.host = in.text();
  card.address.text = in.text();
  card.address.family = static_cast<int>(in.number());
  card.address.loopback = in.number() != 0;
  for (auto left = in.number(); left > 0; --left) card.ports.push_back(in.text());
  return card;
}

void check_reachable(const std::vector<HostCard>& cards) {
  for (std::size_t i = 0; i < cards.size(); ++i) {
    for (std::size_t j = 0; j < cards.size(); ++j) {
      const auto one = cards[i].who(static_cast<int>(i)), other = cards[j].who(static_cast<int>(j));
      if (cards[i].address.loopback && cards[i].host != cards[j].host) {
        throw UserError("comm gloo: " + one + " offers a loopback address, which " + other + " cannot reach",
                        "set comm.interface or comm.address to a network that both hosts share");
      }
      if (cards[i].address.family != cards[j].address.family) {
        throw UserError("comm gloo: " + one + " uses " + family_name(cards[i].address.family) + ", " + other +
                            " uses " + family_name(cards[j].address.family),
                        "set comm.address so that all ranks use one address family");
      }
    }
  }
}

}  // namespace dtrain::gloo_plugin
