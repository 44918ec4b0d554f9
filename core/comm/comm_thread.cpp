// SPDX-License-Identifier: Apache-2.0
#include "core/comm/comm_thread.h"

#include <dtrain/error.h>

#include <csignal>

namespace dtrain {

CommThread::CommThread(Stages& stages) : stages_(stages) {
  // Signals are for the threads that expect them.
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this] { run(); });
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

CommThread::~CommThread() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  submitted_.notify_one();
  thread_.join();
}

void CommThread::begin(std::size_t buckets) {
  const std::lock_guard lock(mutex_);
  DTRAIN_CHECK(!open_, "the round before is not finished");
  open_ = true;
  total_ = buckets;
  ready_ = posted_ = completed_ = 0;
  drained_ = buckets == 0;
  error_ = nullptr;
}

void CommThread::submit(std::size_t bucket) {
  {
    const std::lock_guard lock(mutex_);
    DTRAIN_CHECK(
        open_ && bucket == ready_ && bucket < total_,
        "bucket " + std::to_string(bucket) + " of " + std::to_string(total_) + " after " + std::to_string(ready_));
    ++ready_;
  }
  submitted_.notify_one();
}

void CommThread::finish() {
  std::unique_lock lock(mutex_);
  DTRAIN_CHECK(open_ && ready_ == total_,
               std::to_string(ready_) + " of " + std::to_string(total_) + " buckets were started");
  done_.wait(lock, [this] { return error_ != nullptr || drained_; });
  open_ = false;
  if (error_ != nullptr) std::rethrow_exception(error_);
}

bool CommThread::has_work() const {
  return error_ == nullptr && !drained_ && (posted_ < ready_ || completed_ < posted_ || completed_ == total_);
}

void CommThread::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    submitted_.wait(lock, [this] { return stopping_ || has_work(); });
    if (stopping_) return;
    const bool post = posted_ < ready_ && posted_ - completed_ < kInFlight;
    const bool complete = !post && completed_ < posted_;
    lock.unlock();
    std::exception_ptr error;
    try {
      if (post) {
        stages_.post(posted_);
      } else if (complete) {
        stages_.complete(completed_);
      } else {
        stages_.drain();
      }
    } catch (...) {
      error = std::current_exception();
      stages_.fail();
    }
    lock.lock();
    error_ = error;
    posted_ += post ? 1 : 0;
    completed_ += complete ? 1 : 0;
    drained_ = !post && !complete;
    if (error_ != nullptr || drained_) done_.notify_one();
  }
}

}  // namespace dtrain
