// SPDX-License-Identifier: Apache-2.0
//
// The three exceptions that may cross the boundary between dtrain and a plugin. They are final and header-only, so both
// sides of a dlopen share one type by name. Anything else that a plugin throws is wrapped by the host as a plugin fault
// that names the plugin, the component and the rank.
#pragma once

#include <exception>
#include <source_location>
#include <string>
#include <utility>

namespace dtrain {

// Where in a user's file a mistake stands. line and column count from 1; 0 means unknown.
struct Place {
  std::string file;
  int line = 0;
  int column = 0;

  bool known() const { return !file.empty(); }
  std::string text() const {
    std::string out = file;
    if (line > 0) out += ":" + std::to_string(line);
    if (line > 0 && column > 0) out += ":" + std::to_string(column);
    return out;
  }
};

// A mistake that the user can mend: bad recipe, missing file, mismatched plugin. The message says what was found and what
// was expected; the hint says what to do. The command ends with `exit_code` and no stack trace.
class [[gnu::visibility("default")]] UserError final : public std::exception {
 public:
  explicit UserError(std::string message, std::string hint = {}, Place place = {}, int exit_code = 2)
      : message_(std::move(message)), hint_(std::move(hint)), place_(std::move(place)), exit_code_(exit_code) {}

  const char* what() const noexcept override { return message_.c_str(); }
  const std::string& message() const { return message_; }
  const std::string& hint() const { return hint_; }
  const Place& place() const { return place_; }
  int exit_code() const { return exit_code_; }

 private:
  std::string message_;
  std::string hint_;
  Place place_;
  int exit_code_;
};

// An event that a job can survive. After it the thrower's inputs are unchanged unless its contract says otherwise.
class [[gnu::visibility("default")]] RecoverableError final : public std::exception {
 public:
  enum class Kind { peer_lost, timeout, aborted, store_unavailable };

  RecoverableError(Kind kind, std::string message, int peer = -1)
      : kind_(kind), message_(std::move(message)), peer_(peer) {}

  const char* what() const noexcept override { return message_.c_str(); }
  Kind kind() const { return kind_; }
  int peer() const { return peer_; }  // rank in the communicator that failed, -1 when unknown

 private:
  Kind kind_;
  std::string message_;
  int peer_;
};

// A broken promise inside dtrain or a plugin: a bug. Raised by DTRAIN_CHECK.
class [[gnu::visibility("default")]] InvariantError final : public std::exception {
 public:
  InvariantError(const char* condition, const std::string& detail, std::source_location where)
      : message_(std::string(where.file_name()) + ":" + std::to_string(where.line()) + ": check failed: " + condition +
                 (detail.empty() ? "" : ": " + detail)) {}

  const char* what() const noexcept override { return message_.c_str(); }

 private:
  std::string message_;
};

}  // namespace dtrain

// DTRAIN_CHECK(condition) or DTRAIN_CHECK(condition, detail): throws InvariantError when the condition is false.
#define DTRAIN_CHECK(condition, ...)                                                                               \
  do {                                                                                                             \
    if (!(condition)) [[unlikely]]                                                                                 \
      throw ::dtrain::InvariantError(#condition, ::std::string{__VA_ARGS__}, ::std::source_location::current());   \
  } while (false)
