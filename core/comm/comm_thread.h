// SPDX-License-Identifier: Apache-2.0
//
// The thread that calls collectives for a reducer.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <exception>
#include <mutex>
#include <thread>

namespace dtrain {

// Takes the buckets of a round through their stages in order, two in flight: while one's data travel the other is
// computed.
class CommThread {
 public:
  // Called by the thread alone.
  class Stages {
   public:
    virtual void post(std::size_t bucket) = 0;      // starts transfers; bucket - 2 is complete
    virtual void complete(std::size_t bucket) = 0;  // waits for them and computes
    virtual void drain() = 0;                       // after the last one: waits for everything
    virtual void fail() noexcept = 0;               // after an exception of the others: leaves nothing in flight

   protected:
    ~Stages() = default;
  };

  static constexpr std::size_t kInFlight = 2;

  explicit CommThread(Stages& stages);
  ~CommThread();  // waits for the stage in progress: the owner aborts the group first when a round is open
  CommThread(const CommThread&) = delete;
  CommThread& operator=(const CommThread&) = delete;

  // One thread.
  void begin(std::size_t buckets);
  void submit(std::size_t bucket);        // ascending
  void finish();                          // waits for the end of the round; throws what a stage threw
  bool is_open() const { return open_; }  // a round was begun and finish() has not returned

 private:
  void run();
  bool has_work() const;

  Stages& stages_;
  bool open_ = false;  // of the caller's thread

  std::mutex mutex_;
  std::condition_variable submitted_;
  std::condition_variable done_;
  std::size_t total_ = 0;      // buckets of the round
  std::size_t ready_ = 0;      // of them submitted,
  std::size_t posted_ = 0;     // of them posted,
  std::size_t completed_ = 0;  // of them complete
  bool drained_ = true;
  bool stopping_ = false;
  std::exception_ptr error_;
  std::thread thread_;
};

}  // namespace dtrain
