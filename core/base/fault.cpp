// SPDX-License-Identifier: Apache-2.0
#include "core/base/fault.h"

#include <atomic>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <mutex>
#include <string>
#include <unistd.h>
#include <vector>

#include <dtrain/error.h>

namespace dtrain::fault {
namespace {

struct Rule {
  std::string name;
  std::int64_t step = -1;
  std::int64_t rank = -1;
  std::int64_t nth = 1;
  std::string action;
  std::int64_t visits = 0;
};

std::atomic<bool> armed{false};
std::mutex mutex;
std::vector<Rule> rules;

[[noreturn]] void bad(std::string_view text) {
  throw UserError("DTRAIN_FAULT: cannot read '" + std::string(text) + "'",
                  "expected NAME[:step=N][:rank=N][:nth=N]=ACTION, ACTION one of kill, killgroup, term, stop, abort, throw, exit:CODE");
}

std::int64_t number(std::string_view text, std::string_view rule) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) bad(rule);
  return value;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const auto end = std::min(text.find(separator, begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

bool known(std::string_view action) {
  for (auto name : {"kill", "killgroup", "term", "stop", "abort", "throw"}) {
    if (action == name) return true;
  }
  return action.starts_with("exit:");
}

Rule parse(std::string_view text) {
  // The action follows the last '=' that is not part of a "key=number" pair.
  const auto action = text.rfind('=');
  if (action == std::string_view::npos) bad(text);
  Rule rule;
  rule.action = text.substr(action + 1);
  if (!known(rule.action)) bad(text);
  if (rule.action.starts_with("exit:")) number(std::string_view(rule.action).substr(5), text);
  const auto parts = split(text.substr(0, action), ':');
  rule.name = parts[0];
  if (rule.name.empty()) bad(text);
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const auto equals = parts[i].find('=');
    if (equals == std::string_view::npos) bad(text);
    const auto key = parts[i].substr(0, equals);
    const auto value = number(parts[i].substr(equals + 1), text);
    if (key == "step") {
      rule.step = value;
    } else if (key == "rank") {
      rule.rank = value;
    } else if (key == "nth") {
      rule.nth = value;
    } else {
      bad(text);
    }
  }
  return rule;
}

void act(const std::string& action, std::string_view name) {
  if (action == "kill") ::kill(::getpid(), SIGKILL);
  if (action == "killgroup") ::kill(0, SIGKILL);
  if (action == "term") ::kill(::getpid(), SIGTERM);
  if (action == "stop") ::kill(::getpid(), SIGSTOP);
  if (action == "abort") std::abort();
  if (action.starts_with("exit:")) ::_exit(std::atoi(action.c_str() + 5));
  if (action == "throw") throw UserError("fault point " + std::string(name) + " threw as DTRAIN_FAULT asked", "", {}, 1);
}

}  // namespace

void arm_from_environment() {
  const char* text = std::getenv("DTRAIN_FAULT");
  const std::lock_guard lock(mutex);
  rules.clear();
  if (text != nullptr && *text != '\0') {
    for (auto part : split(text, ';')) rules.push_back(parse(part));
  }
  armed = !rules.empty();
}

void point(std::string_view name, std::int64_t rank, std::int64_t step) {
  if (!armed.load(std::memory_order_relaxed)) [[likely]]
    return;
  std::string action;
  {
    const std::lock_guard lock(mutex);
    for (auto& rule : rules) {
      if (rule.name != name) continue;
      if (rule.step >= 0 && rule.step != step) continue;
      if (rule.rank >= 0 && rule.rank != rank) continue;
      if (++rule.visits == rule.nth) action = rule.action;
    }
  }
  if (!action.empty()) act(action, name);
}

}  // namespace dtrain::fault
