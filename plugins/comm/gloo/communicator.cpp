// SPDX-License-Identifier: Apache-2.0
#include "communicator.h"

#include <atomic>
#include <csignal>
#include <cstring>
#include <functional>

#include <gloo/allreduce.h>
#include <gloo/broadcast.h>
#include <gloo/math.h>
#include <gloo/rendezvous/store.h>
#include <gloo/transport/tcp/device.h>

namespace dtrain::gloo_plugin {
namespace {

// Gloo's own collectives build their slots from small prefixes in the top byte; ours have its highest bit.
constexpr std::uint64_t kSlotBase = std::uint64_t{1} << 63;

// Gloo's view of the rendezvous: keys of one group and generation.
class GroupStore final : public gloo::rendezvous::Store {
 public:
  explicit GroupStore(const CommContext& context)
      : rendezvous_(*context.rendezvous),
        prefix_("gloo/" + std::to_string(context.generation) + "/" + context.group + "/"),
        timeout_(context.timeout) {}

  void set(const std::string& key, const std::vector<char>& data) override {
    rendezvous_.set(prefix_ + key, std::as_bytes(std::span(data)));
  }
  std::vector<char> get(const std::string& key) override {
    const auto value = rendezvous_.get(prefix_ + key, timeout_);
    const auto* begin = reinterpret_cast<const char*>(value.data());
    return {begin, begin + value.size()};
  }
  void wait(const std::vector<std::string>& keys) override { wait(keys, timeout_); }
  void wait(const std::vector<std::string>& keys, const std::chrono::milliseconds& timeout) override {
    for (const auto& key : keys) rendezvous_.get(prefix_ + key, timeout);
  }

 private:
  Rendezvous& rendezvous_;
  std::string prefix_;
  std::chrono::milliseconds timeout_;
};

// Gloo starts its thread with the caller's signal mask; signals are for the threads that expect them.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

[[noreturn]] void throw_recoverable(const std::string& what, const std::string& operation, int peer, bool aborted) {
  using Kind = RecoverableError::Kind;
  if (aborted) throw RecoverableError(Kind::aborted, operation + " was aborted", peer);
  const bool timed_out = what.find("Timed out") != std::string::npos || what.find("timed out") != std::string::npos;
  throw RecoverableError(timed_out ? Kind::timeout : Kind::peer_lost, operation + ": " + what, peer);
}

class BufferWork final : public Work {
 public:
  enum class Direction : std::uint8_t { send, receive };

  BufferWork(std::unique_ptr<gloo::transport::UnboundBuffer> buffer, Direction direction, int peer,
             const CommContext& context, std::shared_ptr<BufferRegistry> registry)
      : buffer_(std::move(buffer)),
        direction_(direction),
        peer_(peer),
        timeout_(context.timeout),
        operation_((direction == Direction::send ? "send to rank " : "receive from rank ") + std::to_string(peer) +
                   " in group " + context.group),
        registry_(std::move(registry)) {}

  void wait(Stream) override {
    if (done_) return;
    bool completed = false;
    try {
      completed = direction_ == Direction::send ? buffer_->waitSend(timeout_) : buffer_->waitRecv(timeout_);
    } catch (const gloo::Exception& e) {
      throw_recoverable(e.what(), operation_, peer_, registry_->aborted());
    }
    if (!completed) throw_recoverable("", operation_, peer_, true);
    done_ = true;
  }
  bool done() const override { return done_; }

 private:
  std::unique_ptr<gloo::transport::UnboundBuffer> buffer_;
  Direction direction_;
  int peer_;
  std::chrono::milliseconds timeout_;
  std::string operation_;
  std::shared_ptr<BufferRegistry> registry_;
  std::atomic<bool> done_{false};
};

// An operation that was complete when it was started.
class CompletedWork final : public Work {
 public:
  void wait(Stream) override {}
  bool done() const override { return true; }
};

template <class T>
void set_reduction(gloo::AllreduceOptions& options, void* data, std::size_t count, ReduceOp op) {
  options.setOutput(static_cast<T*>(data), count);
  using Function = void (*)(void*, const void*, const void*, std::size_t);
  Function function = &gloo::sum<T>;
  if (op == ReduceOp::max) function = &gloo::max<T>;
  if (op == ReduceOp::min) function = &gloo::min<T>;
  options.setReduceFunction(function);
}

void set_reduction(gloo::AllreduceOptions& options, void* data, std::size_t count, DType type, ReduceOp op) {
  switch (type) {
    case DType::f32:
      return set_reduction<float>(options, data, count, op);
    case DType::f64:
      return set_reduction<double>(options, data, count, op);
    case DType::i64:
      return set_reduction<std::int64_t>(options, data, count, op);
    case DType::i32:
      return set_reduction<std::int32_t>(options, data, count, op);
    case DType::u8:
      return set_reduction<std::uint8_t>(options, data, count, op);
    case DType::f16:
    case DType::bf16:
    case DType::u16:
      throw UserError("comm gloo has no native all-reduce of " + std::string(name_of(type)),
                      "use train.reduction = \"canonical\"");
  }
}

}  // namespace

GlooCommunicator::GlooCommunicator(const CommContext& context, const Options& options) : context_(context) {
  const auto attr = resolve({options.interface, options.address});
  GroupStore store(context);
  try {
    const SignalsBlocked blocked;
    std::shared_ptr<gloo::transport::Device> device =
        std::make_shared<RecordingDevice>(gloo::transport::tcp::CreateDevice(attr), registry_);
    mesh_ = std::make_shared<gloo::rendezvous::Context>(context.rank, context.size);
    mesh_->setTimeout(context.timeout);
    mesh_->connectFullMesh(store, device);
  } catch (const gloo::Exception& e) {
    throw_recoverable(e.what(), "rank " + std::to_string(context.rank) + " joining group " + context.group, -1, false);
  }
  context_.rendezvous = nullptr;  // needed no more, and need not live as long as the group
}

GlooCommunicator::~GlooCommunicator() { abort(); }

void GlooCommunicator::check_usable(int peer) const {
  DTRAIN_CHECK(peer >= 0 && peer < context_.size && peer != context_.rank, "peer " + std::to_string(peer));
  if (registry_->aborted()) {
    throw RecoverableError(RecoverableError::Kind::aborted, "group " + context_.group + " was aborted");
  }
}

std::unique_ptr<Work> GlooCommunicator::send(std::span<const std::byte> bytes, int peer, std::uint64_t tag) {
  check_usable(peer);
  // Gloo has one type for both directions; a send only reads.
  auto buffer = mesh_->createUnboundBuffer(const_cast<std::byte*>(bytes.data()), bytes.size());
  try {
    buffer->send(peer, kSlotBase | tag);
  } catch (const gloo::Exception& e) {
    throw_recoverable(e.what(), "send to rank " + std::to_string(peer), peer, registry_->aborted());
  }
  return std::make_unique<BufferWork>(std::move(buffer), BufferWork::Direction::send, peer, context_, registry_);
}

std::unique_ptr<Work> GlooCommunicator::receive(std::span<std::byte> bytes, int peer, std::uint64_t tag) {
  check_usable(peer);
  auto buffer = mesh_->createUnboundBuffer(bytes.data(), bytes.size());
  try {
    buffer->recv(peer, kSlotBase | tag);
  } catch (const gloo::Exception& e) {
    throw_recoverable(e.what(), "receive from rank " + std::to_string(peer), peer, registry_->aborted());
  }
  return std::make_unique<BufferWork>(std::move(buffer), BufferWork::Direction::receive, peer, context_, registry_);
}

std::unique_ptr<Work> GlooCommunicator::all_reduce(void* data, std::size_t count, DType type, ReduceOp op) {
  if (registry_->aborted()) throw_recoverable("", "all-reduce", -1, true);
  gloo::AllreduceOptions options(mesh_);
  set_reduction(options, data, count, type, op);
  try {
    gloo::allreduce(options);
  } catch (const gloo::Exception& e) {
    throw_recoverable(e.what(), "all-reduce in group " + context_.group, -1, registry_->aborted());
  }
  if (registry_->aborted()) throw_recoverable("", "all-reduce in group " + context_.group, -1, true);
  return std::make_unique<CompletedWork>();
}

std::unique_ptr<Work> GlooCommunicator::broadcast(std::span<std::byte> buffer, int root) {
  if (registry_->aborted()) throw_recoverable("", "broadcast", -1, true);
  gloo::BroadcastOptions options(mesh_);
  options.setOutput(reinterpret_cast<std::uint8_t*>(buffer.data()), buffer.size());
  options.setRoot(root);
  try {
    gloo::broadcast(options);
  } catch (const gloo::Exception& e) {
    throw_recoverable(e.what(), "broadcast in group " + context_.group, -1, registry_->aborted());
  }
  return std::make_unique<CompletedWork>();
}

void GlooCommunicator::abort() noexcept {
  registry_->abort();
  for (int peer = 0; peer < context_.size; ++peer) {
    if (peer == context_.rank || !mesh_) continue;
    try {
      if (auto& pair = mesh_->getPair(peer)) pair->close();
    } catch (...) {
      // The connection is gone already, which is all that is wanted.
    }
  }
}

}  // namespace dtrain::gloo_plugin
