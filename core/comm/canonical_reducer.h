// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "core/comm/comm_thread.h"
#include "core/comm/reducer.h"
#include "core/comm/reduction_layout.h"
#include "core/comm/tree_fold.h"
#include "core/comm/work_list.h"

namespace dtrain {

// Reduce-scatter of tree nodes to the owners of slices, exact fold, all-gather; over send and receive alone. Both
// halves move as many bytes as a ring's when every rank holds one node.
class CanonicalReducer final : public Reducer, private CommThread::Stages {
 public:
  CanonicalReducer(Communicator& group, ReductionLayout layout);
  ~CanonicalReducer() override;

  void begin(std::span<const LanePart> parts, const std::vector<bool>& lane_present, std::span<float> out) override;
  void start(std::size_t bucket) override { thread_.submit(bucket); }
  void finish() override { thread_.finish(); }

 private:
  // A node of another rank: the `message`-th that it sends for a bucket, the `input`-th of the fold.
  struct Remote {
    int peer = 0;
    std::size_t message = 0;
    std::size_t input = 0;
  };

  void post(std::size_t bucket) override;
  void complete(std::size_t bucket) override;
  void drain() override;
  void fail() noexcept override;

  void plan_inputs();
  void send_parts(std::size_t bucket);
  void receive_parts(std::size_t bucket);
  void receive_results(std::size_t bucket);
  std::span<float> slice(std::size_t bucket, std::size_t rank) const;

  Communicator& group_;
  const ReductionLayout layout_;
  const std::size_t self_;
  std::size_t largest_slice_ = 0;  // of this rank, in elements

  // Of the lanes present now.
  std::vector<bool> present_;
  TreeFold fold_;
  std::size_t first_own_ = 0;  // input that is this rank's first part
  std::vector<Remote> remotes_;
  std::vector<const float*> inputs_;

  std::span<const LanePart> parts_;
  std::span<float> out_;
  std::array<std::vector<float>, CommThread::kInFlight> arrivals_;  // remotes_.size() slices each
  WorkList sends_, results_;
  std::array<WorkList, CommThread::kInFlight> receives_;
  CommThread thread_;  // last: it is the first to end
};

}  // namespace dtrain
