// SPDX-License-Identifier: Apache-2.0
#include "mesh.h"

#include <gloo/transport/device.h>
#include <gloo/transport/tcp/device.h>

#include <array>
#include <cstring>
#include <functional>
#include <string_view>
#include <utility>

#include "recording.h"
#include "signals.h"

namespace dtrain::gloo_plugin {
namespace {

using Kind = RecoverableError::Kind;

// Slots of our own messages; those of the group's owner are hashed and do not meet them.
constexpr std::uint64_t kGreetingSlot = 1, kWatchSlot = 2;

// Gloo waits this many times the time limit for a connection.
constexpr int kConnectFactor = 5;

std::shared_ptr<gloo::transport::Device> open_device(const LocalAddress& address) {
  gloo::transport::tcp::attr attr;
  attr.hostname = address.text;
  attr.ai_family = address.family;
  try {
    const SignalsBlocked blocked;
    return gloo::transport::tcp::CreateDevice(attr);
  } catch (const std::exception& e) {
    throw UserError("comm gloo cannot listen on " + address.text + ": " + text_of(e),
                    "set comm.interface or comm.address to another address of this host");
  }
}

// FNV-1a; part of the greeting, so that groups tell each other apart.
std::uint64_t hash(std::string_view text) {
  std::uint64_t value = 0xcbf29ce484222325;
  for (const char c : text) value = (value ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return value;
}

}  // namespace

Mesh::Mesh(const CommContext& context, const LocalAddress& address)
    : gloo::Context(context.rank, context.size),
      watched_(static_cast<std::size_t>(context.size)),
      waits_(std::make_shared<Waits>(context.timeout)),
      cards_(static_cast<std::size_t>(context.size)) {
  setTimeout(context.timeout);
  device_ = open_device(address);
  plain_ = device_->createContext(rank, size);
  plain_->setTimeout(context.timeout / kConnectFactor);
  transportContext_ = std::make_shared<RecordingContext>(plain_, waits_);
  DTRAIN_CHECK(size == 1 || context.rendezvous != nullptr);
  auto& mine = cards_[static_cast<std::size_t>(rank)] = this_host(address);
  for (int peer = 0; peer < size; ++peer) {
    mine.ports.emplace_back();
    if (peer == rank) continue;
    const auto port = plain_->createPair(peer)->address().bytes();
    mine.ports.back().assign(port.begin(), port.end());
  }
  exchange_cards(context);
  connect(context);
  watch();
  greet(context);
}

void Mesh::exchange_cards(const CommContext& context) {
  const auto prefix = "gloo/" + std::to_string(context.generation) + "/" + context.group + "/";
  context.rendezvous->set(prefix + std::to_string(rank), encode(cards_[static_cast<std::size_t>(rank)]));
  for (int peer = 0; peer < size; ++peer) {
    if (peer == rank) continue;
    auto& card = cards_[static_cast<std::size_t>(peer)];
    try {
      card = decode(context.rendezvous->get(prefix + std::to_string(peer), context.timeout));
    } catch (const RecoverableError& e) {
      throw RecoverableError(e.kind(),
                             cards_[static_cast<std::size_t>(rank)].who(rank) + " waited for rank " +
                                 std::to_string(peer) + " to join group " + context.group + ": " + e.what(),
                             peer);
    }
    DTRAIN_CHECK(card.ports.size() == cards_.size(), "rank " + std::to_string(rank) + " joins group " + context.group +
                                                         " with size " + std::to_string(size) + ", rank " +
                                                         std::to_string(peer) + " with " +
                                                         std::to_string(card.ports.size()));
  }
  check_reachable(cards_);
}

void Mesh::connect(const CommContext& context) {
  for (int peer = 0; peer < size; ++peer) {
    if (peer == rank) continue;
    const auto& card = cards_[static_cast<std::size_t>(peer)];
    const auto& port = card.ports[static_cast<std::size_t>(rank)];
    try {
      plain_->getPair(peer)->connect(std::vector<char>(port.begin(), port.end()));
    } catch (const std::exception& e) {
      const auto text = text_of(e);
      const bool late = text.find("imeout") != std::string::npos;
      throw RecoverableError(late ? Kind::timeout : Kind::peer_lost,
                             cards_[static_cast<std::size_t>(rank)].who(rank) + " cannot connect to " + card.who(peer) +
                                 " in group " + context.group + ": " + text,
                             peer);
    }
  }
}

// A receive from every peer that never completes. Its wait fails as soon as the connection does.
void Mesh::watch() {
  for (int peer = 0; peer < size; ++peer) {
    if (peer == rank) continue;
    auto buffer = plain_->createUnboundBuffer(&watched_[static_cast<std::size_t>(peer)], 1);
    buffer->recv(peer, kWatchSlot);
    waits_->watch(std::move(buffer), peer);
  }
}

// Whoever listens at a port may not be the one who did when the card was written.
void Mesh::greet(const CommContext& context) {
  using Greeting = std::array<std::uint64_t, 3>;
  const Greeting mine{hash(context.group), context.generation, static_cast<std::uint64_t>(rank)};
  std::vector<Greeting> sent(static_cast<std::size_t>(size), mine), heard(static_cast<std::size_t>(size));
  std::vector<std::unique_ptr<gloo::transport::UnboundBuffer>> sends, receives;
  for (int peer = 0; peer < size; ++peer) {
    const auto i = static_cast<std::size_t>(peer);
    if (peer == rank) continue;
    receives.push_back(createUnboundBuffer(heard[i].data(), sizeof(Greeting)));
    receives.back()->recv(peer, kGreetingSlot);
    sends.push_back(createUnboundBuffer(sent[i].data(), sizeof(Greeting)));
    sends.back()->send(peer, kGreetingSlot);
  }
  try {
    for (auto& receive : receives) receive->waitRecv();
    for (auto& send : sends) send->waitSend();
  } catch (const RecoverableError& e) {
    const auto& peer = cards_[static_cast<std::size_t>(e.peer())];
    throw RecoverableError(e.kind(),
                           cards_[static_cast<std::size_t>(rank)].who(rank) + " has no answer from " +
                               peer.who(e.peer()) + " in group " + context.group + ": " + e.what(),
                           e.peer());
  }
  for (int peer = 0; peer < size; ++peer) {
    if (peer == rank) continue;
    const Greeting expected{mine[0], mine[1], static_cast<std::uint64_t>(peer)};
    if (heard[static_cast<std::size_t>(peer)] == expected) continue;
    throw RecoverableError(Kind::peer_lost,
                           "somebody else answers where " + cards_[static_cast<std::size_t>(peer)].who(peer) +
                               " should be, in group " + context.group,
                           peer);
  }
}

void Mesh::close() noexcept {
  const std::lock_guard lock(closing_);
  for (int peer = 0; peer < size; ++peer) {
    if (peer == rank) continue;
    try {
      if (auto& pair = plain_->getPair(peer)) pair->close();
    } catch (...) {
      // The connection is gone already, which is all that is wanted.
    }
  }
}

}  // namespace dtrain::gloo_plugin
