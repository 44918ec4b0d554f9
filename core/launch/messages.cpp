// SPDX-License-Identifier: Apache-2.0
#include "core/launch/messages.h"

#include <dtrain/error.h>

#include <nlohmann/json.hpp>

#include "core/base/process.h"

namespace dtrain {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(RunRequest, name, plan_json, run_dir, new_run_dir, ranks, threads, grace_s, detach,
                                   dry_run)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(WorkerSeat, rank, world, generation, run_dir)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Started, run_dir, agent_pid)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Spawned, rank, pid, error)
NLOHMANN_JSON_SERIALIZE_ENUM(LastWords::Kind, {{LastWords::Kind::user, "user"},
                                               {LastWords::Kind::recoverable, "recoverable"},
                                               {LastWords::Kind::invariant, "invariant"},
                                               {LastWords::Kind::other, "other"}})
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(LastWords, kind, message, hint, place, exit_code)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(WorkerStatus, rank, pid, ended, phase, step, seconds_in_phase)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(RunStatus, name, run_dir, state, agent_pid, total_steps, last_step, workers)

namespace {

using nlohmann::json;

// Text that came from anywhere may not be UTF-8; a message must not be lost for that.
std::string dump(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

template <class Read>
void guarded(Read read) {
  try {
    read();
  } catch (const json::exception& e) {
    DTRAIN_CHECK(false, std::string("unreadable message: ") + e.what());
  }
}

json failure_json(const RankFailure& failure) {
  json out = {{"rank", failure.rank},   {"host", failure.host}, {"wait_status", failure.wait_status},
              {"phase", failure.phase}, {"step", failure.step}, {"last_line", failure.last_line}};
  if (failure.words) out["words"] = *failure.words;
  return out;
}

RankFailure failure_from(const json& in) {
  RankFailure failure;
  in.at("rank").get_to(failure.rank);
  in.at("host").get_to(failure.host);
  in.at("wait_status").get_to(failure.wait_status);
  in.at("phase").get_to(failure.phase);
  in.at("step").get_to(failure.step);
  in.at("last_line").get_to(failure.last_line);
  if (in.contains("words")) failure.words = in.at("words").get<LastWords>();
  return failure;
}

}  // namespace

LastWords last_words_of_current_exception() {
  using Kind = LastWords::Kind;
  try {
    throw;
  } catch (const UserError& e) {
    return {Kind::user, e.message(), e.hint(), e.place().text(), e.exit_code()};
  } catch (const RecoverableError& e) {
    return {Kind::recoverable, e.what(), "", "", 1};
  } catch (const InvariantError& e) {
    return {Kind::invariant, e.what(), "", "", 1};
  } catch (const std::exception& e) {
    return {Kind::other, e.what(), "", "", 1};
  } catch (...) {
    return {Kind::other, "an exception that is not a std::exception", "", "", 1};
  }
}

std::string RankFailure::text() const {
  std::string out = "rank " + std::to_string(rank) + " on " + host + " " + describe_status(wait_status);
  if (!phase.empty()) out += " in phase " + phase;
  if (step >= 0) out += (phase.empty() ? " at step " : ", step ") + std::to_string(step);
  const std::string& said = words ? words->message : last_line;
  if (!said.empty()) out += "; last words: " + said;
  return out;
}

std::string encode(const RunRequest& value) {
  return dump(value);
}
std::string encode(const WorkerSeat& value) {
  return dump(value);
}
std::string encode(const Started& value) {
  return dump(value);
}
std::string encode(const Spawned& value) {
  return dump(value);
}
std::string encode(const LastWords& value) {
  return dump(value);
}
std::string encode(const RunStatus& value) {
  return dump(value);
}
std::string encode(const Outcome& value) {
  json out = {{"exit_code", value.exit_code}, {"message", value.message}, {"hint", value.hint},
              {"place", value.place},         {"run_dir", value.run_dir}, {"signal", value.signal}};
  if (value.failure) out["failure"] = failure_json(*value.failure);
  return dump(out);
}

void decode(const std::string& text, RunRequest& value) {
  guarded([&] { value = json::parse(text).get<RunRequest>(); });
}
void decode(const std::string& text, WorkerSeat& value) {
  guarded([&] { value = json::parse(text).get<WorkerSeat>(); });
}
void decode(const std::string& text, Started& value) {
  guarded([&] { value = json::parse(text).get<Started>(); });
}
void decode(const std::string& text, Spawned& value) {
  guarded([&] { value = json::parse(text).get<Spawned>(); });
}
void decode(const std::string& text, LastWords& value) {
  guarded([&] { value = json::parse(text).get<LastWords>(); });
}
void decode(const std::string& text, RunStatus& value) {
  guarded([&] { value = json::parse(text).get<RunStatus>(); });
}
void decode(const std::string& text, Outcome& value) {
  guarded([&] {
    const auto in = json::parse(text);
    in.at("exit_code").get_to(value.exit_code);
    in.at("message").get_to(value.message);
    in.at("hint").get_to(value.hint);
    in.at("place").get_to(value.place);
    in.at("run_dir").get_to(value.run_dir);
    in.at("signal").get_to(value.signal);
    if (in.contains("failure")) value.failure = failure_from(in.at("failure"));
  });
}

}  // namespace dtrain
