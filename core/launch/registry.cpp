// SPDX-License-Identifier: Apache-2.0
#include "core/launch/registry.h"

#include <dtrain/error.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>

namespace dtrain {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr int kFormat = 1;

fs::path entry_path(const fs::path& folder, pid_t pid) {
  return folder / (std::to_string(pid) + ".json");
}
fs::path socket_path(const fs::path& folder, pid_t pid) {
  return folder / (std::to_string(pid) + ".sock");
}

std::optional<RegisteredRun> read_entry(const fs::path& file) {
  std::ifstream in(file);
  const auto fields = json::parse(in, nullptr, false);
  if (!fields.is_object() || fields.value("format", 0) != kFormat) return std::nullopt;
  try {
    RegisteredRun run;
    fields.at("pid").get_to(run.agent.pid);
    fields.at("start_time").get_to(run.agent.start_time);
    fields.at("name").get_to(run.name);
    fields.at("run_dir").get_to(run.run_dir);
    fields.at("ranks").get_to(run.ranks);
    fields.at("started").get_to(run.started);
    run.socket = socket_path(file.parent_path(), run.agent.pid);
    return run;
  } catch (const json::exception&) {
    return std::nullopt;
  }
}

std::string listed(const std::vector<RegisteredRun>& runs) {
  std::string out;
  for (const auto& run : runs)
    out += (out.empty() ? "" : ", ") + run.run_dir + " (" + std::to_string(run.agent.pid) + ")";
  return out.empty() ? "none is running" : "running: " + out;
}

bool means(const RegisteredRun& run, std::string_view which) {
  const fs::path dir(run.run_dir);
  if (which == std::to_string(run.agent.pid) || which == dir.filename().string()) return true;
  std::error_code error;
  return fs::equivalent(fs::path(which), dir, error);
}

}  // namespace

fs::path registry_folder() {
  const char* runtime = std::getenv("XDG_RUNTIME_DIR");
  const bool given = runtime != nullptr && *runtime != '\0' && ::access(runtime, W_OK | X_OK) == 0;
  const auto folder =
      given ? fs::path(runtime) / "dtrain" : fs::path("/tmp") / ("dtrain-" + std::to_string(::getuid()));
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
    throw UserError("cannot make " + folder.string() + ": " + std::strerror(errno), "", {}, 1);
  }
  struct stat info {};
  if (::lstat(folder.c_str(), &info) != 0 || !S_ISDIR(info.st_mode) || info.st_uid != ::getuid()) {
    throw UserError(folder.string() + " is not a folder of this user", "remove it, or set XDG_RUNTIME_DIR", {}, 1);
  }
  return folder;
}

Registration::Registration(RegisteredRun run) : run_(std::move(run)) {
  const auto folder = registry_folder();
  file_ = entry_path(folder, run_.agent.pid);
  run_.socket = socket_path(folder, run_.agent.pid);
  std::error_code error;
  fs::remove(run_.socket, error);  // of a dead process with the same number
  const json fields = {{"format", kFormat},      {"pid", run_.agent.pid},   {"start_time", run_.agent.start_time},
                       {"name", run_.name},      {"run_dir", run_.run_dir}, {"ranks", run_.ranks},
                       {"started", run_.started}};
  const auto temporary = file_.string() + ".new";
  std::ofstream out(temporary);
  out << fields.dump(-1, ' ', false, json::error_handler_t::replace) << '\n';
  out.close();
  if (out) fs::rename(temporary, file_, error);
  if (!out || error) throw UserError("cannot write " + file_.string(), "", {}, 1);
}

Registration::~Registration() {
  std::error_code error;
  fs::remove(file_, error);
  fs::remove(run_.socket, error);
}

std::vector<RegisteredRun> running_runs() {
  std::vector<RegisteredRun> runs;
  std::error_code error;
  for (const auto& file : fs::directory_iterator(registry_folder(), error)) {
    if (file.path().extension() != ".json") continue;
    const auto run = read_entry(file.path());
    if (run && alive(run->agent)) {
      runs.push_back(*run);
      continue;
    }
    fs::remove(file.path(), error);
    if (run) fs::remove(run->socket, error);
  }
  std::sort(runs.begin(), runs.end(), [](const auto& a, const auto& b) { return a.started < b.started; });
  return runs;
}

RegisteredRun find_run(std::string_view which) {
  const auto all = running_runs();
  std::vector<RegisteredRun> found;
  for (const auto& run : all) {
    if (means(run, which)) found.push_back(run);
  }
  if (found.empty()) throw UserError("no running run '" + std::string(which) + "'", listed(all));
  if (found.size() > 1)
    throw UserError("'" + std::string(which) + "' names " + std::to_string(found.size()) + " runs", listed(found));
  return found.front();
}

}  // namespace dtrain
