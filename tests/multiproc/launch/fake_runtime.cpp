// SPDX-License-Identifier: Apache-2.0
//
// A runtime that trains nothing. The "plan" is a JSON object that says what to do:
// - steps, step_ms: how many steps of which length; every step ends with a commit in which all ranks agree to stop
// - prepare: "crash", "crash_loading", "exit_loading", "throw", "sleep", "thread", "chatter"
// - fail: {rank, step, how}: how one rank fails, see fail_if_told
// - ignore_stop: ranks never stop
// - save_ms: how long rank 0 takes to save when the run stops or ends
// - lines: how many lines each rank prints; flood: bytes it prints without a newline
// - say_threads: ranks print OMP_NUM_THREADS
// - helper: each rank starts a child process
#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "core/launch/host.h"
#include "core/launch/in_process.h"

namespace {

using namespace std::chrono_literals;
using nlohmann::json;

class Fake final : public dtrain::HostProgram {
 public:
  std::string prepare(const std::string& plan_json, const std::string& run_dir, dtrain::PrepareWatch& watch) override {
    plan_ = json::parse(plan_json);
    (void)run_dir;
    prepare_as_told(plan_.value("prepare", ""), watch);
    marker_ = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    return json{{"settings", {{"model", "fake"}}}, {"total_steps", plan_.value("steps", 0)}, {"unit", "samples"}}
        .dump();
  }

  int run_worker(const dtrain::WorkerSeat& seat, dtrain::AgentLink& link) override {
    seat_ = &seat;
    link_ = &link;
    if (::fcntl(marker_, F_GETFD) < 0) throw std::runtime_error("what prepare opened is closed in the worker");
    if (plan_.value("helper", false)) start_helper();
    say();
    const int steps = plan_.value("steps", 3);
    int step = 0;
    for (; step < steps; ++step) {
      link.phase("forward", step);
      fail_if_told(step);
      std::this_thread::sleep_for(std::chrono::milliseconds(plan_.value("step_ms", 5)));
      link.phase("commit", step);
      const bool stop = commit(step);
      if (seat.rank == 0) report(step);
      if (stop && !plan_.value("ignore_stop", false)) {
        ++step;
        break;
      }
    }
    if (seat.rank == 0) save(step);
    link.phase("done", step);
    return 0;
  }

 private:
  static void prepare_as_told(const std::string& how, dtrain::PrepareWatch& watch) {
    if (how == "throw") throw dtrain::UserError("the data is not there", "look for it", {"recipe.toml", 3, 7});
    if (how == "crash") ::raise(SIGSEGV);
    if (how == "crash_loading" || how == "exit_loading") {
      watch.loading("/somewhere/bad.so");
      if (how == "crash_loading") ::raise(SIGSEGV);
      std::exit(3);
    }
    if (how == "sleep") {
      std::fprintf(stderr, "preparing slowly\n");
      std::this_thread::sleep_for(60s);
    }
    if (how == "thread") std::thread([] { std::this_thread::sleep_for(60s); }).detach();
    if (how == "chatter") std::fprintf(stderr, "said while preparing\n");
  }

  void start_helper() {
    if (::fork() == 0) {
      while (true) ::pause();
    }
  }

  void say() {
    if (plan_.value("say_threads", false)) std::printf("OMP_NUM_THREADS is %s\n", std::getenv("OMP_NUM_THREADS"));
    for (int line = 0; line < plan_.value("lines", 0); ++line) {
      std::printf("line %d of rank %d %s\n", line, seat_->rank, std::string(80, 'x').c_str());
    }
    if (const auto bytes = plan_.value("flood", std::size_t{0}); bytes > 0) {
      for (std::size_t done = 0; done < bytes; done += 10'000) std::fputs(std::string(10'000, 'f').c_str(), stderr);
    }
  }

  void fail_if_told(int step) {
    const auto fail = plan_.value("fail", json::object());
    if (fail.value("rank", -1) != seat_->rank || fail.value("step", -1) != step) return;
    const std::string how = fail.at("how");
    if (how == "exit") ::_exit(17);
    if (how == "abort") std::abort();
    if (how == "kill") ::raise(SIGKILL);
    if (how == "user") throw dtrain::UserError("sample 7 is broken", "mend it");
    if (how == "recoverable")
      throw dtrain::RecoverableError(dtrain::RecoverableError::Kind::peer_lost, "peer is gone", 0);
    if (how == "plugin") throw std::runtime_error("plugin fault");
    if (how == "diverge") throw dtrain::UserError("loss is NaN at step 3", "lower lr", {}, 4);
    if (how == "rendezvous") link_->get("nobody sets this", 100ms);
    if (how == "hang") {
      while (true) ::pause();
    }
  }

  // Every rank learns whether any rank was asked to stop: all stop after the same step.
  bool commit(int step) {
    const std::byte mine[1] = {link_->stop_requested() ? std::byte{1} : std::byte{0}};
    const auto key = [step](int rank) { return "stop/" + std::to_string(step) + "/" + std::to_string(rank); };
    link_->set(key(seat_->rank), mine);
    bool stop = false;
    for (int rank = 0; rank < seat_->world; ++rank) stop |= link_->get(key(rank), 60s).at(0) != std::byte{0};
    return stop;
  }

  void report(int step) {
    link_->report(json{{"event", "step"}, {"step", step}, {"loss", 1.0 / (step + 1)}, {"samples", step * 8}}.dump(),
                  false);
  }

  void save(int step) {
    link_->phase("save", step);
    std::this_thread::sleep_for(std::chrono::milliseconds(plan_.value("save_ms", 0)));
    std::ofstream(seat_->run_dir + "/saved", std::ios::app) << step << '\n';
    link_->report(json{{"event", "save"}, {"step", step}}.dump(), true);
    link_->report(json{{"event", "summary"}, {"steps", step}}.dump(), false);
  }

  json plan_;
  int marker_ = -1;
  const dtrain::WorkerSeat* seat_ = nullptr;
  dtrain::AgentLink* link_ = nullptr;
};

}  // namespace

extern "C" [[gnu::visibility("default")]] int dtrain_runtime_host(int agent_socket) {
  Fake program;
  return dtrain::serve_host(agent_socket, program);
}

extern "C" [[gnu::visibility("default")]] int dtrain_runtime_in_process(const dtrain::RunRequest* request,
                                                                        dtrain::RunView* view,
                                                                        dtrain::Outcome* outcome) {
  Fake program;
  *outcome = dtrain::run_in_process(*request, program, *view);
  return 0;
}
