// SPDX-License-Identifier: Apache-2.0
#include "core/observe/progress.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace dtrain {
namespace {

using nlohmann::json;
using namespace std::chrono_literals;

constexpr auto kWindow = 20s;
constexpr auto kLineEvery = 10s;
constexpr std::int64_t kLinesPerRun = 20;

std::optional<double> number(const json& report, const std::string& name) {
  const auto it = report.find(name);
  return it != report.end() && it->is_number() ? std::optional(it->get<double>()) : std::nullopt;
}

std::string formatted(const char* format, double value) {
  char text[48];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

}  // namespace

std::string short_duration(std::chrono::seconds time) {
  const auto s = time.count();
  char text[48];
  if (s < 60) {
    std::snprintf(text, sizeof text, "%llds", static_cast<long long>(s));
  } else if (s < 3600) {
    std::snprintf(text, sizeof text, "%lldm%02llds", static_cast<long long>(s / 60), static_cast<long long>(s % 60));
  } else if (s < 86'400) {
    std::snprintf(text, sizeof text, "%lldh%02lldm", static_cast<long long>(s / 3600),
                  static_cast<long long>(s / 60 % 60));
  } else {
    std::snprintf(text, sizeof text, "%lldd%02lldh", static_cast<long long>(s / 86'400),
                  static_cast<long long>(s / 3600 % 24));
  }
  return text;
}

Progress::Progress(std::int64_t total_steps, std::int64_t start_step, std::string unit)
    : total_(total_steps), start_(start_step), unit_(std::move(unit)) {}

void Progress::add(const std::string& step_report, Clock::time_point now) {
  const auto report = json::parse(step_report, nullptr, false);
  if (!report.is_object()) return;
  const auto step = number(report, "step");
  if (!step) return;
  step_ = static_cast<std::int64_t>(*step);
  loss_ = number(report, "loss");
  rate_ = number(report, unit_ + "_per_s").value_or(0);
  world_ = static_cast<std::int64_t>(number(report, "world").value_or(0));
  window_.push_back({now, step_, number(report, unit_).value_or(0)});
  while (window_.size() > 2 && now - window_.front().time > kWindow) window_.pop_front();
}

double Progress::steps_per_second() const {
  if (window_.size() < 2) return 0;
  const std::chrono::duration<double> time = window_.back().time - window_.front().time;
  return time.count() > 0 ? static_cast<double>(window_.back().step - window_.front().step) / time.count() : 0;
}

double Progress::units_per_second() const {
  if (rate_ > 0 || window_.size() < 2) return rate_;
  const std::chrono::duration<double> time = window_.back().time - window_.front().time;
  return time.count() > 0 ? (window_.back().units - window_.front().units) / time.count() : 0;
}

std::string Progress::text() const {
  if (step_ < 0) return {};
  std::string out = "step " + std::to_string(step_);
  if (total_ > 0) out += "/" + std::to_string(total_);
  out += loss_ ? formatted("  loss %.4f", *loss_) : "  loss not finite";
  if (const double rate = units_per_second(); rate > 0) out += formatted("  %.0f ", rate) + unit_ + "/s";
  if (const double rate = steps_per_second(); rate > 0 && total_ > step_) {
    out += "  ETA " + short_duration(std::chrono::seconds(std::llround(static_cast<double>(total_ - step_) / rate)));
  }
  if (world_ > 0) out += "  " + std::to_string(world_) + (world_ == 1 ? " rank" : " ranks");
  return out;
}

bool Progress::line_due(Clock::time_point now) {
  if (step_ < 0) return false;
  const bool due =
      !last_line_ || now - *last_line_ >= kLineEvery || (total_ > 0 && step_ >= next_line_step_) || step_ == total_;
  if (!due) return false;
  const auto stride = std::max<std::int64_t>(1, (total_ - start_ + kLinesPerRun - 1) / kLinesPerRun);
  next_line_step_ = total_ > 0 ? std::min(total_, start_ + ((step_ - start_) / stride + 1) * stride) : 0;
  last_line_ = now;
  return true;
}

}  // namespace dtrain
