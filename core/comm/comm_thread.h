// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

namespace dtrain {

// The thread that calls collectives for a reducer: runs `work` for submitted buckets in order. After an exception the rest of the
// round is dropped and finish() throws it.
class CommThread {
 public:
  explicit CommThread(std::function<void(std::size_t)> work);
  ~CommThread();  // waits for the work in progress: the owner aborts the group first when that may hang
  CommThread(const CommThread&) = delete;
  CommThread& operator=(const CommThread&) = delete;

  void begin(std::size_t buckets);    // of the round
  void submit(std::size_t bucket);    // the next one, ascending
  void finish();                      // waits until all buckets of the round are done

 private:
  void run();

  std::function<void(std::size_t)> work_;
  std::mutex mutex_;
  std::condition_variable submitted_;
  std::condition_variable done_;
  std::size_t ready_ = 0;     // buckets submitted in this round
  std::size_t finished_ = 0;  // of them done
  std::size_t total_ = 0;
  bool stopping_ = false;
  std::exception_ptr error_;
  std::thread thread_;
};

}  // namespace dtrain
