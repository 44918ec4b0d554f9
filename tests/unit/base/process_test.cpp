// SPDX-License-Identifier: Apache-2.0
#include "core/base/process.h"

#include <dtrain/error.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <thread>

#include "core/base/subprocess.h"

namespace dtrain {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

std::string read_all(int fd) {
  std::string out;
  char buffer[4096];
  for (ssize_t n; (n = ::read(fd, buffer, sizeof buffer)) > 0;) out.append(buffer, static_cast<std::size_t>(n));
  return out;
}

// Runs a shell script with its standard output in a pipe; other descriptors are what `start` makes of them.
std::string output_of(const std::string& script, Command command = {}) {
  int ends[2];
  EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const UniqueFd null(::open("/dev/null", O_RDWR | O_CLOEXEC)), reader(ends[0]);
  UniqueFd writer(ends[1]);
  command.file = "/bin/sh";
  command.arguments = {"-c", script};
  command.descriptors = {null.get(), writer.get(), null.get()};
  const pid_t pid = start(command);
  writer.reset();
  const auto out = read_all(reader.get());
  ::waitpid(pid, nullptr, 0);
  return out;
}

TEST(Subprocess, HasTheListedDescriptorsAndNoOthers) {
  const UniqueFd inheritable(::open("/dev/null", O_RDONLY));  // not close-on-exec
  EXPECT_EQ(output_of("for f in /proc/$$/fd/*; do printf '%s ' ${f##*/}; done"), "0 1 2 ");
}

TEST(Subprocess, EnvironmentIsLaidOverTheInherited) {
  ::setenv("DTRAIN_TEST_A", "old", 1);
  ::setenv("DTRAIN_TEST_AB", "kept", 1);
  Command command;
  command.environment = {{"DTRAIN_TEST_A", "new"}, {"DTRAIN_TEST_C", "c d"}};
  EXPECT_EQ(output_of("echo $DTRAIN_TEST_A $DTRAIN_TEST_AB $DTRAIN_TEST_C", command), "new kept c d\n");
}

TEST(Subprocess, SignalsAreAsInAFreshProcess) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
  EXPECT_THAT(output_of("grep -E 'SigBlk|SigIgn' /proc/self/status"),
              ::testing::MatchesRegex("SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n"));
  ::pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

TEST(Subprocess, AProgramThatCannotBeStartedIsAUserError) {
  Command command;
  command.file = "/no/such/program";
  try {
    start(command);
    FAIL() << "started";
  } catch (const UserError& e) {
    EXPECT_EQ(e.message(), "cannot start /no/such/program: No such file or directory");
    EXPECT_EQ(e.exit_code(), 1);
  }
}

TEST(Process, IsNamedByNumberAndStartTime) {
  const auto self = process_id(::getpid());
  ASSERT_TRUE(self.has_value());
  EXPECT_TRUE(alive(*self));
  EXPECT_FALSE(alive({self->pid, self->start_time + 1}));
  EXPECT_FALSE(signal_process({self->pid, self->start_time + 1}, SIGKILL));
  EXPECT_FALSE(process_id(0x7fffffff).has_value());
}

TEST(Process, AZombieIsNotAliveAndItsDescriptorIsReadable) {
  const pid_t pid = ::fork();
  if (pid == 0) ::_exit(7);
  const auto fd = pidfd_open(pid);
  pollfd entry{fd.get(), POLLIN, 0};
  EXPECT_EQ(::poll(&entry, 1, 5000), 1);
  EXPECT_FALSE(process_id(pid).has_value());
  EXPECT_THAT(children_of(::getpid()), Contains(pid));
  int status = 0;
  ::waitpid(pid, &status, 0);
  EXPECT_EQ(describe_status(status), "ended with exit code 7");
}

TEST(Process, SignalsHaveNames) {
  EXPECT_EQ(signal_name(SIGKILL), "SIGKILL");
  EXPECT_EQ(signal_name(SIGRTMIN + 3), "signal " + std::to_string(SIGRTMIN + 3));
  EXPECT_EQ(describe_status(SIGSEGV), "was killed by signal 11 (SIGSEGV)");
}

TEST(Process, CountsThreads) {
  EXPECT_EQ(thread_count(), 1);
  std::atomic<bool> done{false};
  std::thread other([&] {
    while (!done) std::this_thread::yield();
  });
  EXPECT_EQ(thread_count(), 2);
  done = true;
  other.join();
}

TEST(Process, ClosesAllDescriptorsButSome) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    const int kept = ::open("/dev/null", O_RDONLY);
    const int closed = ::open("/dev/null", O_RDONLY);
    close_descriptors_except({kept, 2, 0});
    const bool right = ::fcntl(kept, F_GETFD) >= 0 && ::fcntl(closed, F_GETFD) < 0 && ::fcntl(1, F_GETFD) < 0 &&
                       open_descriptors() == std::vector<int>{0, 2, kept};
    ::_exit(right ? 0 : 1);
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace dtrain
