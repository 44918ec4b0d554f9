// SPDX-License-Identifier: Apache-2.0
//
// The log: one event a line, `2026-01-31T12:00:00.123Z info rank=2 event=save step=500 path="a b"`. A logger is a value
// that knows where its lines go and which fields they all carry; it is handed to whoever logs.
#pragma once

#include <concepts>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>

namespace dtrain {

struct LogField {
  std::string_view key;
  std::string value;

  LogField(std::string_view name, std::string_view text) : key(name), value(text) {}
  LogField(std::string_view name, const char* text) : key(name), value(text) {}
  LogField(std::string_view name, const std::string& text) : key(name), value(text) {}
  LogField(std::string_view name, bool flag) : key(name), value(flag ? "true" : "false") {}
  LogField(std::string_view name, std::integral auto number) : key(name), value(std::to_string(number)) {}
  LogField(std::string_view name, double number);
};

class Logger {
 public:
  // Takes one whole line with its newline; called from the thread that logs.
  using Sink = std::function<void(std::string_view line)>;

  Logger() = default;  // drops everything
  explicit Logger(Sink sink, std::initializer_list<LogField> scope = {});

  // To a descriptor, one write(2) a line, so lines of several processes do not mix. The descriptor outlives the logger.
  static Logger to_descriptor(int fd, std::initializer_list<LogField> scope = {});

  void info(std::string_view event, std::initializer_list<LogField> fields = {}) const { line("info", event, fields); }
  void warning(std::string_view event, std::initializer_list<LogField> fields = {}) const {
    line("warning", event, fields);
  }
  void error(std::string_view event, std::initializer_list<LogField> fields = {}) const {
    line("error", event, fields);
  }

 private:
  void line(std::string_view level, std::string_view event, std::initializer_list<LogField> fields) const;

  Sink sink_;
  std::string scope_;  // " rank=2"
};

// The time now in UTC, ISO 8601 with milliseconds.
std::string utc_now();

}  // namespace dtrain
