// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "core/comm/comm_thread.h"
#include "core/comm/local_reducer.h"
#include "core/comm/work_list.h"

namespace dtrain {

// The backend's all-reduce of what the rank has folded. The order of additions among ranks is the backend's.
class NativeReducer final : public Reducer, private CommThread::Stages {
 public:
  NativeReducer(Communicator& group, ReductionLayout layout);
  ~NativeReducer() override;

  void begin(std::span<const LanePart> parts, const std::vector<bool>& lane_present, std::span<float> out) override;
  void start(std::size_t bucket) override { thread_.submit(bucket); }
  void finish() override { thread_.finish(); }

 private:
  void post(std::size_t bucket) override;
  void complete(std::size_t bucket) override { works_[bucket % CommThread::kInFlight].wait(); }
  void drain() override {}
  void fail() noexcept override;

  Communicator& group_;
  const ReductionLayout layout_;
  LocalReducer local_;
  std::span<float> out_;
  std::array<WorkList, CommThread::kInFlight> works_;
  CommThread thread_;  // last: it is the first to end
};

}  // namespace dtrain
