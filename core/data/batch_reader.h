// SPDX-License-Identifier: Apache-2.0
//
// Reads a rank's micro-batches ahead of the step that needs them.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "core/data/batch_assembler.h"

namespace dtrain {

class BatchReader;

// The right to one micro-batch's memory; its destruction gives the memory back. It must not outlive the reader.
class BatchLease {
 public:
  BatchLease(BatchReader& reader, std::unique_ptr<HostBatch> batch) : reader_(&reader), batch_(std::move(batch)) {}
  BatchLease(BatchLease&&) noexcept = default;
  BatchLease& operator=(BatchLease&& other) noexcept;
  ~BatchLease();

  const HostBatch& operator*() const { return *batch_; }
  const HostBatch* operator->() const { return batch_.get(); }

 private:
  BatchReader* reader_;
  std::unique_ptr<HostBatch> batch_;
};

// Hands out the micro-batches of this rank's lanes in order: those of one step, then of the next. Any number of loader
// threads gives the same batches; 0 reads on the thread that calls next().
//
// Threads: next() and seek() are called by one thread; abort() by any. Loader threads block all signals.
// Failure: what a data set throws while a micro-batch is read is thrown, with its type, by the next() that would have
// returned that micro-batch, after those before it, and by every later next() until seek().
class BatchReader {
 public:
  struct Setup {
    BatchAssembler::Setup source;
    int world = 1;
    int loaders = 1;
    std::int64_t first_step = 0;  // data step, from 0
    std::int64_t end_step = 0;    // nothing is read at or after it
    int look_ahead = 0;           // micro-batches read and not yet handed out, at most; 0: 2 + 2 * loaders
  };
  explicit BatchReader(Setup setup);
  ~BatchReader();  // waits for reads in progress
  BatchReader(const BatchReader&) = delete;
  BatchReader& operator=(const BatchReader&) = delete;

  // Waits for the next micro-batch. RecoverableError (aborted) after abort(). There must be one: see `end_step`.
  BatchLease next();

  // The next micro-batch will be this rank's first one at or after the start of data step `step`.
  void seek(std::int64_t step);

  void abort() noexcept;  // ends every wait in next(), now and later

 private:
  friend class BatchLease;

  // A micro-batch of this rank, before the end.
  struct Job {
    StepSamples step;
    std::int64_t index = 0;
  };
  // What became of a job.
  struct Result {
    std::unique_ptr<HostBatch> batch;
    std::exception_ptr error;
    bool ready() const { return batch != nullptr || error != nullptr; }
  };

  void start_at(std::int64_t step);
  std::optional<Job> next_job();
  bool can_read_ahead() const;
  Result read(const Job& job, std::unique_ptr<HostBatch> batch) const;
  std::unique_ptr<HostBatch> spare();
  void give_back(std::unique_ptr<HostBatch> batch) noexcept;
  BatchLease hand_out(Result result);
  void loader();

  Setup s_;
  BatchAssembler assembler_;

  std::mutex mutex_;  // guards everything below except threads_
  std::condition_variable work_;
  std::condition_variable arrived_;
  std::vector<std::unique_ptr<HostBatch>> spare_;
  std::vector<Result> ring_;  // result of job n at n % look_ahead
  std::uint64_t started_ = 0;
  std::uint64_t taken_ = 0;
  std::uint64_t seeks_ = 0;  // results of jobs started before the last seek are dropped
  std::int64_t cursor_step_ = 0;
  std::int64_t cursor_index_ = 0;
  std::exception_ptr failed_;
  bool failing_ = false;  // a job failed: start no more
  bool aborted_ = false;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace dtrain
