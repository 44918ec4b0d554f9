// SPDX-License-Identifier: Apache-2.0
//
// Evaluation over a finite set, cut into the same lanes whatever the number of ranks, so that metrics do not depend on it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <dtrain/comm.h>
#include <dtrain/loss.h>
#include <dtrain/metric.h>
#include <dtrain/model.h>
#include <dtrain/strategy.h>

#include "core/train/batch_feed.h"

namespace dtrain {

using MetricValues = std::vector<std::pair<std::string, double>>;  // in the recipe's order

// Collective over all ranks of `group`. Thread: the one that trains.
class Evaluator {
 public:
  struct Setup {
    Model* model = nullptr;
    Loss* loss = nullptr;
    std::vector<std::pair<std::string, const Metric*>> metrics;
    std::vector<LaneView> lanes;  // this rank's, of the one step that holds the whole set
    int total_lanes = 1;
    Communicator* group = nullptr;                       // null on one rank
    std::function<std::unique_ptr<BatchFeed>()> open;    // a feed of this rank's micro-batches from the start
    std::function<void()> load_buffers;                  // puts the committed buffers where the model sees them
  };
  explicit Evaluator(Setup setup) : s_(std::move(setup)) {}

  MetricValues run();

 private:
  Setup s_;
};

}  // namespace dtrain
