// SPDX-License-Identifier: Apache-2.0
#include "core/launch/in_process.h"

#include <dtrain/error.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>

#include "core/base/fault.h"
#include "core/base/process.h"
#include "core/launch/event_log.h"
#include "core/launch/run_dir.h"

namespace dtrain {
namespace {

// A signal handler has no other way to reach anything. Not a signalfd: a debugger's own Ctrl-C needs SIGINT unblocked.
std::atomic<int> stop_signal{0};

void on_stop_signal(int signal) {
  stop_signal.store(signal);
}

// Takes the stop signals while it lives.
class StopHandlers {
 public:
  StopHandlers() {
    stop_signal = 0;
    struct sigaction action {};
    action.sa_handler = on_stop_signal;
    action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
    ::sigaction(SIGINT, &action, &old_int_);
    ::sigaction(SIGTERM, &action, &old_term_);
  }
  StopHandlers(const StopHandlers&) = delete;
  StopHandlers& operator=(const StopHandlers&) = delete;
  ~StopHandlers() {
    ::sigaction(SIGINT, &old_int_, nullptr);
    ::sigaction(SIGTERM, &old_term_, nullptr);
  }

 private:
  struct sigaction old_int_ {
  }, old_term_{};
};

class LocalLink final : public AgentLink {
 public:
  LocalLink(RunView& view, EventLog& events) : view_(view), events_(events) {}

  void set(const std::string& key, std::span<const std::byte> value) override {
    {
      const std::lock_guard lock(mutex_);
      values_[key].assign(value.begin(), value.end());
    }
    changed_.notify_all();
  }

  std::vector<std::byte> get(const std::string& key, std::chrono::milliseconds timeout) override {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, timeout, [&] { return values_.contains(key); })) {
      throw RecoverableError(
          RecoverableError::Kind::timeout,
          "rendezvous timed out: no rank has set '" + key + "' within " + std::to_string(timeout.count()) + " ms");
    }
    return values_[key];
  }

  bool stop_requested() const override { return stop_signal.load(std::memory_order_relaxed) != 0; }

  void phase(std::string_view name, std::int64_t step) override {
    const std::lock_guard lock(mutex_);
    phase_ = name;
    step_ = step;
  }

  void report(const std::string& json, bool event) override {
    const std::lock_guard lock(report_mutex_);
    if (event) events_.add(json);
    view_.report(json);
  }

  void on_abort(std::function<void()>) override {}  // there is no other rank to fail

  RankFailure failure(const LastWords& words) {
    const std::lock_guard lock(mutex_);
    return {0, host_name(), words.exit_code << 8, phase_, step_, words, ""};
  }

 private:
  RunView& view_;
  EventLog& events_;
  std::mutex report_mutex_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, std::vector<std::byte>> values_;
  std::string phase_;
  std::int64_t step_ = -1;
};

class NoWatch final : public PrepareWatch {
 public:
  void loading(std::string_view) override {}  // a debugger is there to see the crash
};

Outcome refused(const LastWords& words) {
  return {words.exit_code, words.message, words.hint, words.place, "", 0, {}};
}

Outcome run_rank(HostProgram& program, RunView& view, EventLog& events, const std::string& run_dir) {
  LocalLink link(view, events);
  Outcome out;
  out.run_dir = run_dir;
  try {
    fault::point("launch.worker", 0);
    out.exit_code = program.run_worker({0, 1, 1, run_dir}, link);
    if (out.exit_code != 0) out.failure = link.failure({LastWords::Kind::other, "", "", "", out.exit_code});
  } catch (...) {
    const auto words = last_words_of_current_exception();
    out.exit_code = words.exit_code;
    out.hint = words.hint;
    out.place = words.place;
    out.failure = link.failure(words);
  }
  if (out.failure) out.message = out.failure->text();
  out.signal = stop_signal;
  if (out.exit_code == 0 && out.signal != 0) {
    out.exit_code = 128 + out.signal;
    out.message = "stopped by signal " + std::to_string(out.signal) + " (" + signal_name(out.signal) + ")";
  }
  events.add(nlohmann::json{{"event", "run_end"}, {"exit_code", out.exit_code}, {"message", out.message}}.dump(
      -1, ' ', false, nlohmann::json::error_handler_t::replace));
  return out;
}

}  // namespace

Outcome run_in_process(const RunRequest& request, HostProgram& program, RunView& view) noexcept {
  try {
    const StopHandlers handlers;
    RunDirLock lock;
    if (!request.new_run_dir) lock = RunDirLock::before_prepare(request.run_dir);
    fault::arm_from_environment();
    NoWatch watch;
    const auto settings = program.prepare(request.plan_json, request.run_dir, watch);
    if (request.dry_run) {
      view.ready(settings);
      return {};
    }
    const std::filesystem::path dir = request.new_run_dir ? make_new_dir(request.run_dir).string() : request.run_dir;
    lock.after_prepare(dir);
    std::filesystem::create_directories(dir / "logs");
    EventLog events(dir);
    view.ready(settings);
    view.started({dir.string(), ::getpid()});
    events.add(nlohmann::json{{"event", "membership"},
                              {"generation", 1},
                              {"world", 1},
                              {"members", {{{"rank", 0}, {"host", host_name()}, {"pid", ::getpid()}}}}}
                   .dump());
    return run_rank(program, view, events, dir.string());
  } catch (...) {
    return refused(last_words_of_current_exception());
  }
}

}  // namespace dtrain
