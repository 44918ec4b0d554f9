// SPDX-License-Identifier: Apache-2.0
#include "core/plugin/probe.h"

#include <dtrain/error.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <system_error>

#include "core/base/process.h"
#include "core/base/unique_fd.h"
#include "core/plugin/loader.h"
#include "core/plugin/option_check.h"
#include "core/plugin/trial.h"

namespace dtrain {
namespace {

using Result = ProbeStep::Result;

// From child to parent: when a step begins its name, when it ends its result and detail. Text of a plugin may have any
// byte but these two.
constexpr char kField = '\x1f', kRecord = '\x1e';

class Reporter {
 public:
  explicit Reporter(int fd) : fd_(fd) {}

  template <class Body>  // returns an empty text, or why the step was skipped
  bool step(const std::string& what, Body body) const {
    send("begin" + (kField + what));
    try {
      const std::string skipped = body();
      send((skipped.empty() ? "passed" : "skipped") + (kField + skipped));
      return true;
    } catch (const std::exception& e) {
      send("failed" + (kField + std::string(e.what())));
    } catch (...) {
      send(std::string("failed") + kField + "an exception that is not derived from std::exception");
    }
    return false;
  }

 private:
  void send(const std::string& record) const {
    const auto bytes = record + kRecord;
    for (std::size_t done = 0; done < bytes.size();) {
      const auto n = ::write(fd_, bytes.data() + done, bytes.size() - done);
      if (n < 0 && errno != EINTR) ::_exit(1);
      if (n > 0) done += static_cast<std::size_t>(n);
    }
  }

  int fd_;
};

std::string title(const ComponentInfo& component) {
  return component.kind + " '" + component.name + "': ";
}

std::string try_component(const PluginLoader& loader, const ComponentInfo& component) {
  const auto trial = trial_of(component.kind);
  if (!trial) return trial_obstacle(component.kind);
  for (const auto& option : component.options) {
    if (option.required) return "its option '" + option.name + "' has no default";
  }
  try {
    return trial(loader, component);
  } catch (const UserError& e) {
    if (e.exit_code() != 2) throw;
    return "with its defaults it asks for other input: " + e.message();  // a data set without its files, for one
  }
}

void run_child(const PluginInfo& plugin, const HostTags& tags, int fd) {
  const Reporter report(fd);
  PluginLoader loader(tags);
  const bool loaded = report.step("loads; the entry agrees with the note; init returns", [&] {
    loader.load(plugin);
    return std::string();
  });
  if (!loaded) return;
  for (const auto& component : plugin.components) {
    report.step(title(component) + "made with its defaults, tried, destroyed",
                [&] { return try_component(loader, component); });
  }
  report.step("shutdown returns", [&] {
    loader.shut_down();
    return std::string();
  });
}

// What the child wrote until it closed the pipe or the time was over.
std::string read_until(int fd, std::chrono::steady_clock::time_point deadline, bool& in_time) {
  std::string text;
  in_time = true;
  while (true) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    pollfd poll_fd = {fd, POLLIN, 0};
    const int ready = ::poll(&poll_fd, 1, static_cast<int>(std::max<std::int64_t>(left.count(), 0)));
    if (ready < 0 && errno == EINTR) continue;
    if (ready == 0) {
      in_time = false;
      return text;
    }
    char buffer[4096];
    const auto n = ::read(fd, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return text;
    text.append(buffer, static_cast<std::size_t>(n));
  }
}

// The steps in a child's records; the last one has no result when the child died in it.
std::vector<ProbeStep> steps_in(std::string_view text, bool& unfinished) {
  std::vector<ProbeStep> steps;
  unfinished = false;
  while (!text.empty()) {
    const auto end = std::min(text.find(kRecord), text.size());
    const auto record = text.substr(0, end);
    const auto separator = std::min(record.find(kField), record.size());
    const auto verb = record.substr(0, separator);
    const std::string rest(record.substr(std::min(separator + 1, record.size())));
    unfinished = verb == "begin";
    if (unfinished) {
      steps.push_back({rest, Result::failed, ""});
    } else if (!steps.empty()) {
      steps.back().result = verb == "passed" ? Result::passed : verb == "skipped" ? Result::skipped : Result::failed;
      steps.back().detail = rest;
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return steps;
}

std::vector<ProbeStep> run_in_child(const PluginInfo& plugin, const HostTags& tags, std::chrono::seconds limit) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw std::system_error(errno, std::generic_category(), "pipe2");
  const UniqueFd read_end(ends[0]);
  UniqueFd write_end(ends[1]);
  const pid_t child = ::fork();
  if (child < 0) throw std::system_error(errno, std::generic_category(), "fork");
  if (child == 0) {
    ::dup2(STDERR_FILENO, STDOUT_FILENO);  // what a plugin prints must not end up in our --json
    run_child(plugin, tags, write_end.get());
    ::_exit(0);
  }
  write_end.reset();
  bool in_time = true, unfinished = false;
  const auto text = read_until(read_end.get(), std::chrono::steady_clock::now() + limit, in_time);
  if (!in_time) ::kill(child, SIGKILL);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  auto steps = steps_in(text, unfinished);
  if (steps.empty()) steps.push_back({"the process starts", Result::failed, ""});
  if (!in_time) {
    steps.back().detail = "it took longer than " + std::to_string(limit.count()) + " s";
  } else if (unfinished) {
    steps.back().detail = "the process " + describe_status(status);
  } else if (status != 0) {
    steps.push_back({"the process ends by itself", Result::failed, "it " + describe_status(status)});
  }
  return steps;
}

}  // namespace

std::vector<ProbeStep> probe_plugin(const PluginInfo& plugin, const HostTags& tags, std::chrono::seconds limit) {
  std::vector<ProbeStep> steps;
  std::string differences;
  for (const auto& difference : tag_differences(plugin, tags)) {
    differences += (differences.empty() ? "" : "; ") + difference.text();
  }
  steps.push_back(
      {"ABI tags are those of this dtrain", differences.empty() ? Result::passed : Result::failed, differences});
  for (const auto& component : plugin.components) {
    std::string problems;
    for (const auto& option : component.options) {
      if (option.required) continue;
      if (const auto problem = value_problem(option, option.default_value)) {
        problems += (problems.empty() ? "" : "; ") + option.name + ": " + *problem;
      }
    }
    steps.push_back({title(component) + "defaults are inside their own limits",
                     problems.empty() ? Result::passed : Result::failed, problems});
  }
  if (!differences.empty()) {
    steps.push_back({"loads; the entry agrees with the note; init returns", Result::skipped, "the ABI tags differ"});
    return steps;
  }
  std::ranges::move(run_in_child(plugin, tags, limit), std::back_inserter(steps));
  return steps;
}

bool all_passed(const std::vector<ProbeStep>& steps) {
  return std::ranges::none_of(steps, [](const auto& step) { return step.result == Result::failed; });
}

}  // namespace dtrain
