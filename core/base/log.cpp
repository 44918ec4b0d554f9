// SPDX-License-Identifier: Apache-2.0
#include "core/base/log.h"

#include <unistd.h>

#include <array>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <ctime>

namespace dtrain {
namespace {

bool plain(std::string_view text) {
  if (text.empty()) return false;
  for (const char c : text) {
    if (c <= ' ' || c == '"' || c == '=' || c == '\\' || c == 127) return false;
  }
  return true;
}

void append_value(std::string& out, std::string_view text) {
  if (plain(text)) {
    out += text;
    return;
  }
  out += '"';
  for (const char c : text) {
    if (c == '\n') {
      out += "\\n";
    } else if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < ' ' || c == 127) {
      char hex[8];
      std::snprintf(hex, sizeof hex, "\\x%02x", static_cast<unsigned>(static_cast<unsigned char>(c)));
      out += hex;
    } else {
      out += c;
    }
  }
  out += '"';
}

void append_field(std::string& out, const LogField& field) {
  out += ' ';
  out += field.key;
  out += '=';
  append_value(out, field.value);
}

}  // namespace

LogField::LogField(std::string_view name, double number) : key(name) {
  std::array<char, 32> text;
  const auto result = std::to_chars(text.data(), text.data() + text.size(), number);
  value.assign(text.data(), result.ptr);
}

std::string utc_now() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
  const std::time_t seconds = static_cast<std::time_t>(ms / 1000);
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  std::array<char, 40> text;
  const auto length = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S", &parts);
  std::array<char, 8> fraction;
  std::snprintf(fraction.data(), fraction.size(), ".%03dZ", static_cast<int>(ms % 1000));
  return std::string(text.data(), length) + fraction.data();
}

Logger::Logger(Sink sink, std::initializer_list<LogField> scope) : sink_(std::move(sink)) {
  for (const auto& field : scope) append_field(scope_, field);
}

Logger Logger::to_descriptor(int fd, std::initializer_list<LogField> scope) {
  return Logger(
      [fd](std::string_view text) {
        while (!text.empty()) {
          const auto n = ::write(fd, text.data(), text.size());
          if (n <= 0) return;  // nowhere to complain
          text.remove_prefix(static_cast<std::size_t>(n));
        }
      },
      scope);
}

void Logger::line(std::string_view level, std::string_view event, std::initializer_list<LogField> fields) const {
  if (!sink_) return;
  std::string out = utc_now() + " " + std::string(level) + scope_ + " event=";
  append_value(out, event);
  for (const auto& field : fields) append_field(out, field);
  out += '\n';
  sink_(out);
}

}  // namespace dtrain
