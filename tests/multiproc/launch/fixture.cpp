// SPDX-License-Identifier: Apache-2.0
#include "tests/multiproc/launch/fixture.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <thread>

#include "core/base/process.h"

namespace dtrain::testing {
namespace {

using Clock = std::chrono::steady_clock;

std::string unique_id() {
  static std::atomic<int> counter{0};
  return std::to_string(::getpid()) + "-" + std::to_string(++counter);
}

}  // namespace

std::string read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

std::vector<nlohmann::json> events_of(const std::filesystem::path& run_dir, std::string_view kind) {
  std::vector<nlohmann::json> found;
  std::ifstream in(run_dir / "events.jsonl");
  for (std::string line; std::getline(in, line);) {
    auto event = nlohmann::json::parse(line);
    if (event.at("event") == kind) found.push_back(std::move(event));
  }
  return found;
}

std::vector<pid_t> zombies_of(pid_t parent) {
  std::vector<pid_t> zombies;
  for (const pid_t child : children_of(parent)) {
    if (!process_id(child)) zombies.push_back(child);
  }
  return zombies;
}

FakeRun::FakeRun(const std::filesystem::path& cwd, const RunOptions& options) : id_(unique_id()) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("pipe2");
  client_ = ::fork();
  if (client_ == 0) {
    ::setpgid(0, 0);  // a process group of its own, like a job of a shell
    ::dup2(ends[1], STDERR_FILENO);
    if (::chdir(cwd.c_str()) != 0) ::_exit(99);
    ::setenv("DTRAIN_RUNTIME", FAKE_RUNTIME, 1);
    ::setenv("DTRAIN_TEST_RUN", id_.c_str(), 1);
    ::setenv("XDG_RUNTIME_DIR", cwd.c_str(), 1);
    for (const char* name : {"OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"}) ::unsetenv(name);
    for (const auto& [name, value] : options.environment) ::setenv(name.c_str(), value.c_str(), 1);
    const auto dir = options.run_dir.empty() ? std::string("-") : options.run_dir;
    const auto ranks = std::to_string(options.ranks);
    const auto grace = std::to_string(options.grace_s);
    ::execl(FAKE_DTRAIN, FAKE_DTRAIN, "run", options.plan.c_str(), dir.c_str(), ranks.c_str(), grace.c_str(),
            options.mode.empty() ? nullptr : options.mode.c_str(), nullptr);
    ::_exit(98);
  }
  ::close(ends[1]);
  stderr_ = ends[0];
}

FakeRun::~FakeRun() {
  for (const pid_t pid : processes()) ::kill(pid, SIGKILL);
  if (!status_) ::waitpid(client_, nullptr, 0);
  ::close(stderr_);
  gone_within(5s);
}

bool FakeRun::read_some(std::chrono::milliseconds timeout) {
  pollfd entry{stderr_, POLLIN, 0};
  if (::poll(&entry, 1, static_cast<int>(std::max<std::int64_t>(timeout.count(), 0))) <= 0) return false;
  char buffer[65536];
  const auto n = ::read(stderr_, buffer, sizeof buffer);
  if (n > 0) output_.append(buffer, static_cast<std::size_t>(n));
  return n > 0;
}

bool FakeRun::wait_for(std::string_view text, std::chrono::milliseconds timeout) {
  const auto deadline = Clock::now() + timeout;
  while (output_.find(text) == std::string::npos) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
    if (left.count() <= 0 || !read_some(left)) {
      ADD_FAILURE() << "no '" << text << "' in the output:\n" << output_;
      return false;
    }
  }
  return true;
}

int FakeRun::wait(std::chrono::milliseconds timeout) {
  const auto deadline = Clock::now() + timeout;
  const auto left = [&] { return std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()); };
  // The agent of an attached run holds standard error too, so its end is the end of both.
  while (left().count() > 0 && read_some(left())) {
  }
  int status = 0;
  while (!status_) {
    if (::waitpid(client_, &status, WNOHANG) == client_) {
      status_ = status;
    } else if (left().count() <= 0) {
      return -1;
    } else {
      std::this_thread::sleep_for(2ms);  // the end of the stream came first; the exit follows at once
    }
  }
  return WIFSIGNALED(*status_) ? 1000 + WTERMSIG(*status_) : WEXITSTATUS(*status_);
}

Outcome FakeRun::outcome() const {
  const auto begin = output_.rfind("outcome: ");
  if (begin == std::string::npos) {
    ADD_FAILURE() << "no outcome in the output:\n" << output_;
    return {};
  }
  const auto end = output_.find('\n', begin);
  return decoded<Outcome>(output_.substr(begin + 9, end - begin - 9));
}

void FakeRun::signal(int number) const {
  ::kill(client_, number);
}

std::string FakeRun::run_dir() {
  if (!wait_for("started: ") || !wait_for("\n")) return {};
  const auto begin = output_.find("started: ");
  while (output_.find('\n', begin) == std::string::npos && read_some(5s)) {
  }
  const auto blank = output_.find(' ', begin + 9);
  return output_.substr(blank + 1, output_.find('\n', begin) - blank - 1);
}

pid_t FakeRun::agent() {
  run_dir();
  return std::atoi(output_.c_str() + output_.find("started: ") + 9);
}

nlohmann::json FakeRun::membership() {
  return events_of(run_dir(), "membership").at(0);
}

std::vector<pid_t> FakeRun::workers() {
  std::vector<pid_t> pids;
  for (const auto& member : membership().at("members")) pids.push_back(member.at("pid"));
  return pids;
}

pid_t FakeRun::host() {
  const auto all = workers();
  for (const pid_t child : children_of(agent())) {
    if (std::find(all.begin(), all.end(), child) == all.end()) return child;
  }
  ADD_FAILURE() << "no host process";
  return 0;
}

std::vector<pid_t> FakeRun::processes() const {
  std::vector<pid_t> found;
  const auto mark = "DTRAIN_TEST_RUN=" + id_;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
    const pid_t pid = std::atoi(entry.path().filename().c_str());
    if (pid <= 0) continue;
    const auto environment = read_file(entry.path() / "environ");
    for (std::size_t at = 0; at < environment.size(); at = environment.find('\0', at) + 1) {
      if (environment.compare(at, mark.size() + 1, mark + '\0') == 0) {
        found.push_back(pid);
        break;
      }
      if (environment.find('\0', at) == std::string::npos) break;
    }
  }
  return found;
}

bool FakeRun::gone_within(std::chrono::milliseconds timeout) const {
  const auto deadline = Clock::now() + timeout;
  while (!processes().empty()) {
    if (Clock::now() > deadline) return false;
    std::this_thread::sleep_for(10ms);
  }
  return true;
}

LaunchTest::LaunchTest() {
  std::string name = (std::filesystem::temp_directory_path() / "dtrain-launch-XXXXXX").string();
  dir_ = ::mkdtemp(name.data());
}

LaunchTest::~LaunchTest() {
  std::error_code error;
  std::filesystem::remove_all(dir_, error);
}

}  // namespace dtrain::testing
