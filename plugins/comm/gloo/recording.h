// SPDX-License-Identifier: Apache-2.0
//
// Decorators around Gloo's transport, through which every wait passes Waits, those inside Gloo's collectives too.
#pragma once

#include <gloo/transport/context.h>
#include <gloo/transport/device.h>
#include <gloo/transport/unbound_buffer.h>

#include <cstddef>
#include <cstdint>
#include <memory>

#include "waits.h"

namespace dtrain::gloo_plugin {

// Also makes the size of a message part of what matches: a message that is longer than the receiver's buffer would end
// the process inside Gloo, and a shorter one would be taken for a whole one. Here neither arrives, and the wait runs
// out.
class RecordingBuffer final : public gloo::transport::UnboundBuffer {
 public:
  RecordingBuffer(std::unique_ptr<gloo::transport::UnboundBuffer> inner, std::shared_ptr<Waits> waits);

  bool waitRecv(int* rank, std::chrono::milliseconds timeout) override;  // the time limit is that of the group
  bool waitSend(int* rank, std::chrono::milliseconds timeout) override;
  void abortWaitRecv() override { inner_->abortWaitRecv(); }
  void abortWaitSend() override { inner_->abortWaitSend(); }
  void send(int peer, std::uint64_t slot, std::size_t offset, std::size_t bytes) override;
  void recv(int peer, std::uint64_t slot, std::size_t offset, std::size_t bytes) override;
  void recv(std::vector<int> peers, std::uint64_t slot, std::size_t offset, std::size_t bytes) override;

 private:
  std::size_t length(std::size_t offset, std::size_t bytes) const;

  std::unique_ptr<gloo::transport::UnboundBuffer> inner_;
  std::shared_ptr<Waits> waits_;
  int source_ = -1, target_ = -1;  // of the last receive and send
};

class RecordingContext final : public gloo::transport::Context {
 public:
  RecordingContext(std::shared_ptr<gloo::transport::Context> inner, std::shared_ptr<Waits> waits);

  std::unique_ptr<gloo::transport::Pair>& getPair(int peer) override { return inner_->getPair(peer); }
  std::unique_ptr<gloo::transport::Pair>& createPair(int peer) override { return inner_->createPair(peer); }
  std::unique_ptr<gloo::transport::UnboundBuffer> createUnboundBuffer(void* data, std::size_t bytes) override;

 private:
  std::shared_ptr<gloo::transport::Context> inner_;
  std::shared_ptr<Waits> waits_;
};

}  // namespace dtrain::gloo_plugin
