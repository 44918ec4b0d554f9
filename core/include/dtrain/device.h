// SPDX-License-Identifier: Apache-2.0
//
// Where data lives and in which order work on it runs. Values; a CPU stream or event does nothing.
#pragma once

#include <cstdint>

namespace dtrain {

enum class DeviceType : std::uint8_t { cpu, cuda };

struct Device {
  DeviceType type = DeviceType::cpu;
  int index = 0;
  bool operator==(const Device&) const = default;
};

// handle is a cudaStream_t on CUDA and null on the CPU.
struct Stream {
  Device device;
  void* handle = nullptr;
};

struct Event {
  Device device;
  void* handle = nullptr;
};

}  // namespace dtrain
