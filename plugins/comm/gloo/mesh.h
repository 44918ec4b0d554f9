// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dtrain/comm.h>
#include <gloo/context.h>

#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "host_card.h"
#include "waits.h"

namespace dtrain::gloo_plugin {

// One connection to every other rank of a group, and what is known of the ranks.
class Mesh final : public gloo::Context {
 public:
  // Collective. Exchanges cards at the rendezvous, connects, and makes sure that the other end of each connection is
  // the rank it should be. UserError: see check_reachable(). RecoverableError that names both ends: a rank did not come
  // or cannot be reached within the time limit.
  Mesh(const CommContext& context, const LocalAddress& address);

  Waits& waits() { return *waits_; }

  // Closes all connections; no buffer is touched afterwards. Any thread, any number of times.
  void close() noexcept;

 private:
  void exchange_cards(const CommContext& context);
  void connect(const CommContext& context);
  void greet(const CommContext& context);
  void watch();

  std::vector<std::byte> watched_;  // the buffers of receives that never complete
  std::shared_ptr<Waits> waits_;
  std::shared_ptr<gloo::transport::Context> plain_;  // undecorated
  std::vector<HostCard> cards_;
  std::mutex closing_;
};

}  // namespace dtrain::gloo_plugin
