// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dtrain/comm.h>

#include <atomic>
#include <memory>
#include <string>
#include <utility>

#include "mesh.h"

namespace dtrain::gloo_plugin {

// One message in flight. done() is true after wait(): Gloo cannot tell earlier.
class BufferWork final : public Work {
 public:
  // `name`: "send of 4 bytes to rank 1 in group world".
  BufferWork(std::unique_ptr<gloo::transport::UnboundBuffer> buffer, Direction direction, std::string name,
             std::shared_ptr<Mesh> mesh, std::shared_ptr<std::atomic<int>> in_flight)
      : buffer_(std::move(buffer)),
        direction_(direction),
        name_(std::move(name)),
        mesh_(std::move(mesh)),
        in_flight_(std::move(in_flight)) {
    ++*in_flight_;
  }
  ~BufferWork() override {
    if (mesh_) --*in_flight_;
  }

  void wait(Stream) override {
    if (done_) return;
    try {
      direction_ == Direction::send ? buffer_->waitSend() : buffer_->waitRecv();
    } catch (const RecoverableError& e) {
      mesh_->close();  // the message must not arrive later
      throw RecoverableError(e.kind(), name_ + ": " + e.what(), e.peer());
    }
    buffer_.reset();
    mesh_.reset();
    --*in_flight_;
    done_ = true;
  }
  bool done() const override { return done_; }

 private:
  std::unique_ptr<gloo::transport::UnboundBuffer> buffer_;
  Direction direction_;
  std::string name_;
  std::shared_ptr<Mesh> mesh_;
  std::shared_ptr<std::atomic<int>> in_flight_;
  std::atomic<bool> done_{false};
};

// An operation that was complete when it was started.
class CompletedWork final : public Work {
 public:
  void wait(Stream) override {}
  bool done() const override { return true; }
};

}  // namespace dtrain::gloo_plugin
