// SPDX-License-Identifier: Apache-2.0
#include "core/state/state_arena.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <limits>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>

#include <dtrain/error.h>

namespace dtrain {
namespace {

constexpr std::size_t kPage = 4096;

std::size_t page_aligned(std::size_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

// MemAvailable of proc(5), in bytes; unlimited where it cannot be read.
std::size_t available_memory() {
  std::ifstream file("/proc/meminfo");
  std::string key;
  std::size_t kibibytes = 0;
  for (std::string unit; file >> key >> kibibytes; std::getline(file, unit)) {
    if (key == "MemAvailable:") return kibibytes * 1024;
  }
  return std::numeric_limits<std::size_t>::max();
}

[[noreturn]] void out_of_memory(const char* what, std::size_t bytes) {
  throw UserError(std::string(what) + ": cannot get " + std::to_string(bytes) + " bytes: " + std::strerror(errno),
                  "use a smaller model, fewer ranks on this node, or a node with more memory", {}, 1);
}

std::byte* map(std::size_t bytes, int protection, int flags, int fd) {
  void* address = ::mmap(nullptr, bytes, protection, flags | MAP_POPULATE, fd, 0);
  if (address == MAP_FAILED) out_of_memory("mmap of training state", bytes);
  return static_cast<std::byte*>(address);
}

}  // namespace

StateArena::StateArena(const std::string& name, std::vector<Region> regions) : regions_(std::move(regions)) {
  for (const auto& region : regions_) {
    offsets_.push_back(bytes_);
    bytes_ += page_aligned(region.elements * sizeof(float));
  }
  if (bytes_ == 0) bytes_ = kPage;
  // Asking the kernel for more than there is would wake the OOM killer, which may choose another process.
  if (bytes_ > available_memory()) {
    errno = ENOMEM;
    out_of_memory("memory for training state", bytes_);
  }
  fd_ = ::memfd_create(("dtrain-" + name).c_str(), MFD_CLOEXEC);
  if (fd_ < 0 || ::ftruncate(fd_, static_cast<off_t>(bytes_)) != 0) {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
    out_of_memory("memfd for training state", bytes_);
  }
  // Reserve the pages now: a memfd that outgrows memory later would end in SIGBUS in the middle of an update.
  if (const int error = ::posix_fallocate(fd_, 0, static_cast<off_t>(bytes_)); error != 0) {
    ::close(std::exchange(fd_, -1));
    errno = error;
    out_of_memory("memfd for training state", bytes_);
  }
  read_write_ = map(bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, fd_);
  read_only_ = map(bytes_, PROT_READ, MAP_SHARED, fd_);
}

StateArena::~StateArena() {
  if (read_only_ != nullptr) ::munmap(read_only_, bytes_);
  if (read_write_ != nullptr) ::munmap(read_write_, bytes_);
  if (fd_ >= 0) ::close(fd_);
}

std::span<const float> StateArena::readable(std::size_t region) const {
  return {reinterpret_cast<const float*>(read_only_ + offsets_[region]), regions_[region].elements};
}

std::span<float> StateArena::writable(std::size_t region) const {
  return {reinterpret_cast<float*>(read_write_ + offsets_[region]), regions_[region].elements};
}

FloatBuffer::FloatBuffer(std::size_t elements) : elements_(elements) {
  if (elements == 0) return;
  data_ = reinterpret_cast<float*>(
      map(page_aligned(elements * sizeof(float)), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1));
}

FloatBuffer::~FloatBuffer() {
  if (data_ != nullptr) ::munmap(data_, page_aligned(elements_ * sizeof(float)));
}

FloatBuffer::FloatBuffer(FloatBuffer&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), elements_(std::exchange(other.elements_, 0)) {}

}  // namespace dtrain
