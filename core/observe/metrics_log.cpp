// SPDX-License-Identifier: Apache-2.0
#include "core/observe/metrics_log.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <unistd.h>
#include <utility>

#include <nlohmann/json.hpp>

#include <dtrain/error.h>

namespace dtrain {
namespace {

constexpr const char* kHeader = R"({"event":"start","format":1})";

[[noreturn]] void fail(const std::filesystem::path& file, const char* what) {
  throw UserError(file.string() + ": " + what + ": " + std::strerror(errno), "check the disk and the permissions", {}, 1);
}

// Bytes of the lines to keep: up to the first line that is torn, is not JSON or belongs to a later step.
std::uintmax_t kept_bytes(const std::filesystem::path& file, std::int64_t resume_step) {
  std::ifstream in(file, std::ios::binary);
  std::uintmax_t kept = 0;
  for (std::string line; std::getline(in, line);) {
    if (in.eof()) break;  // no line break: torn
    const auto object = nlohmann::json::parse(line, nullptr, false);
    if (!object.is_object()) break;
    if (object.value("step", std::int64_t{0}) > resume_step) break;
    kept += line.size() + 1;
  }
  return kept;
}

}  // namespace

MetricsLog::MetricsLog(std::filesystem::path file, std::int64_t resume_step) : file_(std::move(file)) {
  const auto kept = resume_step < 0 ? 0 : kept_bytes(file_, resume_step);
  fd_ = ::open(file_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (fd_ < 0) fail(file_, "cannot open");
  if (::ftruncate(fd_, static_cast<off_t>(kept)) != 0) fail(file_, "cannot truncate");
  if (kept == 0) write(kHeader);
}

MetricsLog::~MetricsLog() {
  if (fd_ >= 0) ::close(fd_);
}

void MetricsLog::write(const std::string& json) {
  const std::string line = json + "\n";
  for (std::size_t done = 0; done < line.size();) {
    const auto n = ::write(fd_, line.data() + done, line.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) fail(file_, "cannot write");
    done += static_cast<std::size_t>(n);
  }
}

}  // namespace dtrain
