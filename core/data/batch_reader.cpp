// SPDX-License-Identifier: Apache-2.0
#include "core/data/batch_reader.h"

#include <dtrain/error.h>
#include <pthread.h>

#include <csignal>
#include <string>

namespace dtrain {

BatchLease& BatchLease::operator=(BatchLease&& other) noexcept {
  if (this != &other) {
    if (batch_) reader_->give_back(std::move(batch_));
    reader_ = other.reader_;
    batch_ = std::move(other.batch_);
  }
  return *this;
}

BatchLease::~BatchLease() {
  if (batch_) reader_->give_back(std::move(batch_));
}

BatchReader::BatchReader(Setup setup) : s_(std::move(setup)), assembler_(s_.source) {
  DTRAIN_CHECK(s_.loaders >= 0 && s_.look_ahead >= 0 && s_.world >= 1);
  if (s_.look_ahead == 0) s_.look_ahead = 2 + 2 * s_.loaders;
  ring_.resize(static_cast<std::size_t>(s_.look_ahead));
  spare_.reserve(ring_.size() + 8);
  start_at(s_.first_step);

  // Signals belong to the threads that know what to do with them.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  for (int i = 0; i < s_.loaders; ++i) {
    threads_.emplace_back([this] { loader(); });
    pthread_setname_np(threads_.back().native_handle(), ("loader-" + std::to_string(i)).c_str());
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

BatchReader::~BatchReader() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  work_.notify_all();
  for (auto& thread : threads_) thread.join();
}

void BatchReader::start_at(std::int64_t step) {
  cursor_step_ = step;
  cursor_index_ = 0;
}

// Advances the cursor to this rank's next micro-batch. Only the last step of an epoch can be too short to reach a rank,
// so one that has no work in two steps running never has any.
std::optional<BatchReader::Job> BatchReader::next_job() {
  int idle = 0;
  while (cursor_step_ < s_.end_step) {
    const auto step = s_.source.layout->step(cursor_step_);
    const auto own = s_.source.layout->of_rank(step, s_.source.rank, s_.world);
    if (cursor_index_ < own.size()) return Job{.step = step, .index = own.begin + cursor_index_++};
    idle = own.size() == 0 ? idle + 1 : 0;
    start_at(idle == 2 ? s_.end_step : cursor_step_ + 1);
  }
  return std::nullopt;
}

bool BatchReader::can_read_ahead() const {
  return !failing_ && cursor_step_ < s_.end_step && started_ - taken_ < ring_.size();
}

BatchReader::Result BatchReader::read(const Job& job, std::unique_ptr<HostBatch> batch) const {
  try {
    if (batch == nullptr) batch = assembler_.allocate();
    assembler_.fill(*batch, job.step, job.index);
    return {.batch = std::move(batch), .error = nullptr};
  } catch (...) {
    return {.batch = nullptr, .error = std::current_exception()};
  }
}

std::unique_ptr<HostBatch> BatchReader::spare() {
  if (spare_.empty()) return nullptr;
  auto batch = std::move(spare_.back());
  spare_.pop_back();
  return batch;
}

void BatchReader::give_back(std::unique_ptr<HostBatch> batch) noexcept {
  const std::lock_guard lock(mutex_);
  // Never more spares than were read ahead and lent out at one time; a failed push_back only frees the memory.
  try {
    spare_.push_back(std::move(batch));
  } catch (const std::bad_alloc&) {
  }
}

void BatchReader::loader() {
  std::unique_lock lock(mutex_);
  while (true) {
    work_.wait(lock, [this] { return stopping_ || can_read_ahead(); });
    if (stopping_) return;
    const auto job = next_job();
    if (!job) {  // the cursor is at the end
      arrived_.notify_one();
      continue;
    }
    const auto number = started_++;
    const auto seeks = seeks_;
    auto batch = spare();
    lock.unlock();
    auto result = read(*job, std::move(batch));
    lock.lock();
    if (seeks != seeks_) {
      if (result.batch) spare_.push_back(std::move(result.batch));
      continue;
    }
    if (result.error) failing_ = true;
    ring_[number % ring_.size()] = std::move(result);
    arrived_.notify_one();
  }
}

BatchLease BatchReader::next() {
  std::unique_lock lock(mutex_);
  if (s_.loaders == 0) {
    if (aborted_) throw RecoverableError(RecoverableError::Kind::aborted, "reading data was aborted");
    if (failed_) std::rethrow_exception(failed_);
    const auto job = next_job();
    DTRAIN_CHECK(job.has_value(), "read past the last step");
    auto batch = spare();
    lock.unlock();
    auto result = read(*job, std::move(batch));
    lock.lock();
    return hand_out(std::move(result));
  }
  auto& slot = ring_[taken_ % ring_.size()];
  arrived_.wait(
      lock, [&] { return aborted_ || failed_ || slot.ready() || (started_ == taken_ && cursor_step_ >= s_.end_step); });
  if (aborted_) throw RecoverableError(RecoverableError::Kind::aborted, "reading data was aborted");
  if (failed_) std::rethrow_exception(failed_);
  DTRAIN_CHECK(slot.ready(), "read past the last step");
  ++taken_;
  work_.notify_one();
  return hand_out(std::exchange(slot, {}));
}

BatchLease BatchReader::hand_out(Result result) {
  if (result.error) {
    failed_ = result.error;
    std::rethrow_exception(result.error);
  }
  return BatchLease(*this, std::move(result.batch));
}

void BatchReader::seek(std::int64_t step) {
  {
    const std::lock_guard lock(mutex_);
    ++seeks_;
    for (auto& slot : ring_) {
      if (slot.batch) spare_.push_back(std::move(slot.batch));
      slot = {};
    }
    started_ = taken_ = 0;
    failed_ = nullptr;
    failing_ = false;
    start_at(step);
  }
  work_.notify_all();
}

void BatchReader::abort() noexcept {
  const std::lock_guard lock(mutex_);
  aborted_ = true;
  arrived_.notify_all();
}

}  // namespace dtrain
