// SPDX-License-Identifier: Apache-2.0
#include "recording.h"

#include <utility>
#include <vector>

namespace dtrain::gloo_plugin {
namespace {

namespace transport = gloo::transport;

class RecordingBuffer final : public transport::UnboundBuffer {
 public:
  RecordingBuffer(std::unique_ptr<transport::UnboundBuffer> inner, std::shared_ptr<BufferRegistry> registry)
      : UnboundBuffer(inner->ptr, inner->size), inner_(std::move(inner)), registry_(std::move(registry)) {
    registry_->add(inner_.get());
  }
  ~RecordingBuffer() override { registry_->remove(inner_.get()); }

  bool waitRecv(int* rank, std::chrono::milliseconds timeout) override { return inner_->waitRecv(rank, timeout); }
  bool waitSend(int* rank, std::chrono::milliseconds timeout) override { return inner_->waitSend(rank, timeout); }
  void abortWaitRecv() override { inner_->abortWaitRecv(); }
  void abortWaitSend() override { inner_->abortWaitSend(); }
  void send(int peer, std::uint64_t slot, std::size_t offset, std::size_t bytes) override {
    inner_->send(peer, slot, offset, bytes);
  }
  void recv(int peer, std::uint64_t slot, std::size_t offset, std::size_t bytes) override {
    inner_->recv(peer, slot, offset, bytes);
  }
  void recv(std::vector<int> peers, std::uint64_t slot, std::size_t offset, std::size_t bytes) override {
    inner_->recv(std::move(peers), slot, offset, bytes);
  }

 private:
  std::unique_ptr<transport::UnboundBuffer> inner_;
  std::shared_ptr<BufferRegistry> registry_;
};

class RecordingContext final : public transport::Context {
 public:
  RecordingContext(std::shared_ptr<transport::Context> inner, std::shared_ptr<BufferRegistry> registry)
      : Context(inner->rank, inner->size), inner_(std::move(inner)), registry_(std::move(registry)) {}

  std::unique_ptr<transport::Pair>& getPair(int peer) override { return inner_->getPair(peer); }
  std::unique_ptr<transport::Pair>& createPair(int peer) override {
    inner_->setTimeout(getTimeout());  // not virtual: what was set on this object is passed on here
    return inner_->createPair(peer);
  }
  std::unique_ptr<transport::UnboundBuffer> createUnboundBuffer(void* data, std::size_t bytes) override {
    return std::make_unique<RecordingBuffer>(inner_->createUnboundBuffer(data, bytes), registry_);
  }

 private:
  std::shared_ptr<transport::Context> inner_;
  std::shared_ptr<BufferRegistry> registry_;
};

void end_waits(transport::UnboundBuffer& buffer) {
  buffer.abortWaitRecv();
  buffer.abortWaitSend();
}

}  // namespace

void BufferRegistry::add(transport::UnboundBuffer* buffer) {
  const std::lock_guard lock(mutex_);
  buffers_.insert(buffer);
  if (aborted_) end_waits(*buffer);
}

void BufferRegistry::remove(transport::UnboundBuffer* buffer) {
  const std::lock_guard lock(mutex_);
  buffers_.erase(buffer);
}

void BufferRegistry::abort() {
  const std::lock_guard lock(mutex_);
  aborted_ = true;
  for (auto* buffer : buffers_) end_waits(*buffer);
}

bool BufferRegistry::aborted() const {
  const std::lock_guard lock(mutex_);
  return aborted_;
}

std::shared_ptr<transport::Context> RecordingDevice::createContext(int rank, int size) {
  return std::make_shared<RecordingContext>(inner_->createContext(rank, size), registry_);
}

}  // namespace dtrain::gloo_plugin
