// SPDX-License-Identifier: Apache-2.0
#include "communicator.h"

#include <dtrain/combine.h>
#include <dtrain/error.h>
#include <gloo/allreduce.h>
#include <gloo/broadcast.h>

#include <utility>

#include "address.h"
#include "work.h"

namespace dtrain::gloo_plugin {
namespace {

using Kind = RecoverableError::Kind;

// Gloo's collectives, and Mesh, number their slots from small prefixes in the top byte and from 1; a tag is spread over
// all bits.
std::uint64_t slot_of(std::uint64_t tag) {
  return ~(tag * 0x9e3779b97f4a7c15);
}

// Only the size of an element and the function matter to Gloo.
void set_output(gloo::AllreduceOptions& options, void* data, std::size_t count, DType type) {
  switch (size_of(type)) {
    case 1:
      return options.setOutput(static_cast<std::uint8_t*>(data), count);
    case 2:
      return options.setOutput(static_cast<std::uint16_t*>(data), count);
    case 4:
      return options.setOutput(static_cast<std::uint32_t*>(data), count);
    default:
      return options.setOutput(static_cast<std::uint64_t*>(data), count);
  }
}

}  // namespace

GlooCommunicator::GlooCommunicator(const CommContext& context, const Options& options) : context_(context) {
  mesh_ = std::make_shared<Mesh>(context, resolve({options.interface, options.address}));
  context_.rendezvous = nullptr;  // needed no more, and need not live as long as the group
}

// Connections of a group that is done are closed softly, so that what was sent last still arrives.
GlooCommunicator::~GlooCommunicator() {
  if (*in_flight_ > 0) abort();
}

std::unique_ptr<Work> GlooCommunicator::send(std::span<const std::byte> bytes, int peer, std::uint64_t tag) {
  // Gloo has one type for both directions; a send only reads.
  return start(const_cast<std::byte*>(bytes.data()), bytes.size(), peer, tag, Direction::send);
}

std::unique_ptr<Work> GlooCommunicator::receive(std::span<std::byte> bytes, int peer, std::uint64_t tag) {
  return start(bytes.data(), bytes.size(), peer, tag, Direction::receive);
}

std::unique_ptr<Work> GlooCommunicator::start(void* data, std::size_t bytes, int peer, std::uint64_t tag,
                                              Direction direction) {
  DTRAIN_CHECK(peer >= 0 && peer < context_.size && peer != context_.rank, "peer " + std::to_string(peer));
  const bool sends = direction == Direction::send;
  auto name = (sends ? "send of " : "receive of ") + std::to_string(bytes) + (sends ? " bytes to" : " bytes from") +
              " rank " + std::to_string(peer) + " in group " + context_.group;
  try {
    mesh_->waits().check_usable();
    auto buffer = mesh_->createUnboundBuffer(data, bytes);
    try {
      sends ? buffer->send(peer, slot_of(tag)) : buffer->recv(peer, slot_of(tag));
    } catch (const std::exception& e) {
      mesh_->waits().fail({Kind::peer_lost, text_of(e), peer});
      mesh_->waits().check_usable();
    }
    return std::make_unique<BufferWork>(std::move(buffer), direction, std::move(name), mesh_, in_flight_);
  } catch (const RecoverableError& e) {
    throw RecoverableError(e.kind(), name + ": " + e.what(), e.peer());
  }
}

void GlooCommunicator::run(const std::string& name, const std::function<void()>& collective) {
  const auto full_name = name + " in group " + context_.group;
  try {
    mesh_->waits().check_usable();
    const std::lock_guard lock(collective_);
    try {
      collective();
    } catch (const RecoverableError&) {
      throw;
    } catch (const std::exception& e) {  // at the start of a transfer: the connection had failed before
      mesh_->waits().fail({Kind::peer_lost, text_of(e)});
      mesh_->waits().check_usable();
    }
  } catch (const RecoverableError& e) {
    mesh_->close();
    throw RecoverableError(e.kind(), full_name + ": " + e.what(), e.peer());
  }
}

std::unique_ptr<Work> GlooCommunicator::all_reduce(void* data, std::size_t count, DType type, ReduceOp op) {
  if (count == 0) return std::make_unique<CompletedWork>();
  run("all-reduce of " + std::to_string(count) + " elements " + std::string(name_of(type)), [&] {
    gloo::AllreduceOptions options(mesh_);
    set_output(options, data, count, type);
    options.setReduceFunction(
        [type, op](void* out, const void* a, const void* b, std::size_t n) { combine(out, a, b, n, type, op); });
    gloo::allreduce(options);
  });
  return std::make_unique<CompletedWork>();
}

std::unique_ptr<Work> GlooCommunicator::broadcast(std::span<std::byte> buffer, int root) {
  DTRAIN_CHECK(root >= 0 && root < context_.size, "root " + std::to_string(root));
  if (buffer.empty()) return std::make_unique<CompletedWork>();
  run("broadcast of " + std::to_string(buffer.size()) + " bytes from rank " + std::to_string(root), [&] {
    gloo::BroadcastOptions options(mesh_);
    options.setOutput(reinterpret_cast<std::uint8_t*>(buffer.data()), buffer.size());
    options.setRoot(root);
    gloo::broadcast(options);
  });
  return std::make_unique<CompletedWork>();
}

void GlooCommunicator::abort() noexcept {
  mesh_->waits().fail({Kind::aborted, "the group was aborted"});
  mesh_->close();
  const std::lock_guard left(collective_);  // a collective computes between its waits
}

}  // namespace dtrain::gloo_plugin
