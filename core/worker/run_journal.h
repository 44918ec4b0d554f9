// SPDX-License-Identifier: Apache-2.0
//
// What a run leaves behind while it trains: metrics, ledger, checkpoints, and reports to the agent. Every rank has one; rank 0
// writes the files.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "core/data/ledger_writer.h"
#include "core/launch/host_program.h"
#include "core/observe/metrics_log.h"
#include "core/train/checkpointer.h"
#include "core/train/reader_feed.h"
#include "core/train/trainer.h"
#include "core/worker/session.h"

namespace dtrain {

// Thread: the one that trains.
class RunJournal final : public TrainerHooks {
 public:
  struct Setup {
    const Session* session = nullptr;
    WorkerSeat seat;
    AgentLink* link = nullptr;
    ReaderFeed* feed = nullptr;
    Checkpointer* checkpointer = nullptr;
    TrainPosition start;
  };
  explicit RunJournal(Setup setup);
  ~RunJournal() override;

  void phase(std::string_view phase, std::int64_t step) override;
  void stepped(std::int64_t step, const StepOutcome& outcome, double lr, const StepTiming& timing) override;
  void evaluated(std::int64_t step, const MetricValues& values) override;
  double data_wait_ms() override;
  void save(const TrainPosition& position, const MetricValues& newest_metrics) override;

  // The last line of the run: how it ended and where it stands.
  void finish(RunEnd end, const TrainPosition& position);

 private:
  bool writes() const { return s_.seat.rank == 0; }
  void report(const nlohmann::json& object, bool event);

  Setup s_;
  std::optional<MetricsLog> metrics_;
  std::unique_ptr<LedgerWriter> ledger_;
  double last_loss_ = 0;
  std::int64_t skipped_ = 0;
  std::int64_t samples_ = 0;
  std::int64_t saved_step_ = 0;
  MetricValues last_metrics_;
};

}  // namespace dtrain
