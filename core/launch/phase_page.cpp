// SPDX-License-Identifier: Apache-2.0
#include "core/launch/phase_page.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

namespace dtrain {
namespace {

constexpr std::size_t kWords = 4;
constexpr std::size_t kMaxName = kWords * 8 - 1;

std::int64_t now_ns() {  // CLOCK_MONOTONIC: the same in all processes of a machine
  return std::chrono::steady_clock::now().time_since_epoch().count();
}

}  // namespace

// A sequence lock: odd while a writer is at work.
struct PhasePage::Layout {
  std::atomic<std::uint32_t> sequence{0};
  std::array<std::atomic<std::uint64_t>, kWords> name{};
  std::atomic<std::int64_t> step{-1};
  std::atomic<std::int64_t> since_ns{0};
};

PhasePage PhasePage::create() {
  UniqueFd memory(::memfd_create("dtrain-phase", MFD_CLOEXEC));
  if (!memory.valid() || ::ftruncate(memory.get(), sizeof(Layout)) != 0) {
    throw std::system_error(errno, std::generic_category(), "memfd_create");
  }
  PhasePage page(std::move(memory));
  new (page.page_) Layout;
  page.page_->since_ns = now_ns();
  return page;
}

PhasePage::PhasePage(UniqueFd memory) : memory_(std::move(memory)) {
  void* address = ::mmap(nullptr, sizeof(Layout), PROT_READ | PROT_WRITE, MAP_SHARED, memory_.get(), 0);
  if (address == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "mmap");
  page_ = static_cast<Layout*>(address);
}

PhasePage::PhasePage(PhasePage&& other) noexcept
    : memory_(std::move(other.memory_)), page_(std::exchange(other.page_, nullptr)) {}

PhasePage& PhasePage::operator=(PhasePage&& other) noexcept {
  std::swap(memory_, other.memory_);
  std::swap(page_, other.page_);
  return *this;
}

PhasePage::~PhasePage() {
  if (page_ != nullptr) ::munmap(page_, sizeof(Layout));
}

void PhasePage::write(std::string_view phase, std::int64_t step) noexcept {
  std::array<std::uint64_t, kWords> name{};
  std::memcpy(name.data(), phase.data(), std::min(phase.size(), kMaxName));
  auto sequence = page_->sequence.load(std::memory_order_relaxed);
  do {
    sequence &= ~1u;  // wait for another writer to be done
  } while (!page_->sequence.compare_exchange_weak(sequence, sequence + 1, std::memory_order_acquire));
  for (std::size_t i = 0; i < kWords; ++i) page_->name[i].store(name[i], std::memory_order_release);
  page_->step.store(step, std::memory_order_release);
  page_->since_ns.store(now_ns(), std::memory_order_release);
  page_->sequence.store(sequence + 2, std::memory_order_release);
}

PhaseSnapshot PhasePage::read() const {
  std::array<std::uint64_t, kWords> name{};
  PhaseSnapshot snapshot;
  std::int64_t since = 0;
  // A writer that was killed at work leaves the sequence odd for ever: then what is there has to do.
  for (int attempt = 0; attempt < 1000; ++attempt) {
    const auto before = page_->sequence.load(std::memory_order_acquire);
    for (std::size_t i = 0; i < kWords; ++i) name[i] = page_->name[i].load(std::memory_order_acquire);
    snapshot.step = page_->step.load(std::memory_order_acquire);
    since = page_->since_ns.load(std::memory_order_acquire);
    if (before % 2 == 0 && page_->sequence.load(std::memory_order_relaxed) == before) break;
  }
  std::array<char, kWords * 8 + 1> text{};
  std::memcpy(text.data(), name.data(), kMaxName);
  snapshot.phase = text.data();
  snapshot.age = std::chrono::nanoseconds(std::max<std::int64_t>(now_ns() - since, 0));
  return snapshot;
}

}  // namespace dtrain
