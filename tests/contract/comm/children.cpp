// SPDX-License-Identifier: Apache-2.0
#include "tests/contract/comm/children.h"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>

namespace dtrain::test {
namespace {

[[noreturn]] void run_child(const Body& body, Seat seat) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  try {
    body(seat);
  } catch (const std::exception& e) {
    ADD_FAILURE() << "rank " << seat.rank << ": " << e.what();
  }
  std::fflush(nullptr);
  ::_exit(testing::Test::HasFailure() ? 1 : 0);
}

}  // namespace

Children::Children(const std::filesystem::path& folder, int size, const Join& join, const Body& body) : board_(folder) {
  std::fflush(nullptr);
  for (int rank = 0; rank < size; ++rank) {
    const auto pid = ::fork();
    if (pid == 0) run_child(body, {.rank = rank, .size = size, .board = &board_, .join = join});
    pids_.push_back(pid);
  }
}

Children::~Children() {
  for (const auto pid : pids_) {
    if (pid <= 0) continue;
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
  }
}

void Children::signal(int rank, int number) const {
  ::kill(pid(rank), number);
}

void Children::wait_stopped(int rank) const {
  int status = 0;
  ASSERT_EQ(::waitpid(pid(rank), &status, WUNTRACED), pid(rank));
  ASSERT_TRUE(WIFSTOPPED(status)) << "rank " << rank << " ended instead of stopping";
}

std::string Children::wait(int rank) {
  int status = 0;
  auto& child = pids_[static_cast<std::size_t>(rank)];
  if (::waitpid(child, &status, 0) != child) return "not waited for";
  child = 0;
  if (WIFSIGNALED(status)) return "signal " + std::to_string(WTERMSIG(status));
  return "exit " + std::to_string(WEXITSTATUS(status));
}

}  // namespace dtrain::test
