// SPDX-License-Identifier: Apache-2.0
//
// A transport that remembers its unbound buffers. Gloo's own close does not free a caller that waits for a buffer, and the
// buffers of its collectives are out of reach; so the device, its context and its buffers are decorated, and abort() can end
// every wait there is.
#pragma once

#include <memory>
#include <mutex>
#include <set>

#include <gloo/transport/context.h>
#include <gloo/transport/device.h>
#include <gloo/transport/unbound_buffer.h>

namespace dtrain::gloo_plugin {

// The buffers alive. Any thread.
class BufferRegistry {
 public:
  void add(gloo::transport::UnboundBuffer* buffer);
  void remove(gloo::transport::UnboundBuffer* buffer);

  // Ends the waits of all buffers, now and of those added later.
  void abort();
  bool aborted() const;

 private:
  mutable std::mutex mutex_;
  std::set<gloo::transport::UnboundBuffer*> buffers_;
  bool aborted_ = false;
};

class RecordingDevice final : public gloo::transport::Device {
 public:
  RecordingDevice(std::shared_ptr<gloo::transport::Device> inner, std::shared_ptr<BufferRegistry> registry)
      : inner_(std::move(inner)), registry_(std::move(registry)) {}

  std::string str() const override { return inner_->str(); }
  const std::string& getPCIBusID() const override { return inner_->getPCIBusID(); }
  int getInterfaceSpeed() const override { return inner_->getInterfaceSpeed(); }
  std::shared_ptr<gloo::transport::Context> createContext(int rank, int size) override;

 private:
  std::shared_ptr<gloo::transport::Device> inner_;
  std::shared_ptr<BufferRegistry> registry_;
};

}  // namespace dtrain::gloo_plugin
