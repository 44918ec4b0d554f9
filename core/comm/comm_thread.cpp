// SPDX-License-Identifier: Apache-2.0
#include "core/comm/comm_thread.h"

#include <csignal>
#include <utility>

#include <dtrain/error.h>

namespace dtrain {

CommThread::CommThread(std::function<void(std::size_t)> work) : work_(std::move(work)) {
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
  ready_ = finished_ = 0;
  total_ = buckets;
  error_ = nullptr;
}

void CommThread::submit(std::size_t bucket) {
  {
    const std::lock_guard lock(mutex_);
    DTRAIN_CHECK(bucket == ready_, "buckets are started in order");
    ++ready_;
  }
  submitted_.notify_one();
}

void CommThread::finish() {
  std::unique_lock lock(mutex_);
  done_.wait(lock, [this] { return error_ != nullptr || finished_ == total_; });
  if (error_ != nullptr) std::rethrow_exception(error_);
}

void CommThread::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    submitted_.wait(lock, [this] { return stopping_ || (error_ == nullptr && finished_ < ready_); });
    if (stopping_) return;
    const auto bucket = finished_;
    lock.unlock();
    std::exception_ptr error;
    try {
      work_(bucket);
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    if (error != nullptr) {
      error_ = error;
    } else {
      ++finished_;
    }
    done_.notify_one();
  }
}

}  // namespace dtrain
