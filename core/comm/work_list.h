// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dtrain/comm.h>

#include <memory>
#include <utility>
#include <vector>

namespace dtrain {

// Operations of one group in flight together. Their buffers outlive the list. An exception that leaves operations
// behind aborts the group, so that nothing touches the buffers afterwards. Used by one thread at a time.
class WorkList {
 public:
  explicit WorkList(Communicator& group) : group_(group) {}
  ~WorkList() {
    if (!works_.empty()) group_.abort();
  }
  WorkList(const WorkList&) = delete;
  WorkList& operator=(const WorkList&) = delete;

  void add(std::unique_ptr<Work> work) { works_.push_back(std::move(work)); }

  // In the order in which they were added.
  void wait() {
    for (const auto& work : works_) work->wait();
    works_.clear();
  }

  // After the group was aborted.
  void clear() noexcept { works_.clear(); }

 private:
  Communicator& group_;
  std::vector<std::unique_ptr<Work>> works_;
};

}  // namespace dtrain
