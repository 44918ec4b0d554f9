// SPDX-License-Identifier: Apache-2.0
//
// What every Communicator promises (dtrain/comm.h), as tests. The bodies run on every rank, as threads or as processes.
#pragma once

#include <dtrain/error.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tests/contract/comm/seat.h"

namespace dtrain::test {

class CommContract : public testing::TestWithParam<Backend> {
 protected:
  void run(int size, const Body& body) const { GetParam().run(size, body); }

  template <class T>
  static std::span<const std::byte> bytes_of(const std::vector<T>& values) {
    return std::as_bytes(std::span(values));
  }
  template <class T>
  static std::span<std::byte> room_of(std::vector<T>& values) {
    return std::as_writable_bytes(std::span(values));
  }
};

// The reduction and the exchange, over every backend.
class ReductionContract : public CommContract {};

}  // namespace dtrain::test
