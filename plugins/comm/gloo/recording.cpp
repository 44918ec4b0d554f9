// SPDX-License-Identifier: Apache-2.0
#include "recording.h"

#include <utility>
#include <vector>

namespace dtrain::gloo_plugin {
namespace {

namespace transport = gloo::transport;

// The finaliser of SplitMix64 (Steele, Lea, Flood 2014): a bijection that spreads every bit.
std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

std::uint64_t slot_of(std::uint64_t slot, std::size_t bytes) {
  return mix(mix(slot) + bytes);
}

}  // namespace

RecordingBuffer::RecordingBuffer(std::unique_ptr<transport::UnboundBuffer> inner, std::shared_ptr<Waits> waits)
    : UnboundBuffer(inner->ptr, inner->size), inner_(std::move(inner)), waits_(std::move(waits)) {}

bool RecordingBuffer::waitRecv(int* rank, std::chrono::milliseconds) {
  waits_->wait(*inner_, Direction::receive, source_);
  if (rank != nullptr) *rank = source_;
  return true;
}

bool RecordingBuffer::waitSend(int* rank, std::chrono::milliseconds) {
  waits_->wait(*inner_, Direction::send, target_);
  if (rank != nullptr) *rank = target_;
  return true;
}

std::size_t RecordingBuffer::length(std::size_t offset, std::size_t bytes) const {
  return bytes == kUnspecifiedByteCount ? size - offset : bytes;
}

void RecordingBuffer::send(int peer, std::uint64_t slot, std::size_t offset, std::size_t bytes) {
  target_ = peer;
  bytes = length(offset, bytes);
  inner_->send(peer, slot_of(slot, bytes), offset, bytes);
}

void RecordingBuffer::recv(int peer, std::uint64_t slot, std::size_t offset, std::size_t bytes) {
  source_ = peer;
  bytes = length(offset, bytes);
  inner_->recv(peer, slot_of(slot, bytes), offset, bytes);
}

void RecordingBuffer::recv(std::vector<int> peers, std::uint64_t slot, std::size_t offset, std::size_t bytes) {
  DTRAIN_CHECK(peers.size() == 1, "a receive names one peer");
  recv(peers.front(), slot, offset, bytes);
}

RecordingContext::RecordingContext(std::shared_ptr<transport::Context> inner, std::shared_ptr<Waits> waits)
    : Context(inner->rank, inner->size), inner_(std::move(inner)), waits_(std::move(waits)) {}

std::unique_ptr<transport::UnboundBuffer> RecordingContext::createUnboundBuffer(void* data, std::size_t bytes) {
  return std::make_unique<RecordingBuffer>(inner_->createUnboundBuffer(data, bytes), waits_);
}

}  // namespace dtrain::gloo_plugin
