// SPDX-License-Identifier: Apache-2.0
//
// Ranks for tests: as threads of this process or as processes of their own.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "core/comm/group_factory.h"

namespace dtrain::test {

using namespace std::chrono_literals;

using Join = std::function<CommunicatorPtr(const CommContext&)>;

// What one rank of a test has.
struct Seat {
  int rank = 0;
  int size = 1;
  Rendezvous* board = nullptr;
  Join join;

  CommContext context(std::chrono::milliseconds timeout = 20s, std::uint64_t generation = 1) const {
    return {.rank = rank,
            .size = size,
            .generation = generation,
            .group = "world",
            .timeout = timeout,
            .rendezvous = board};
  }
  CommunicatorPtr group(std::chrono::milliseconds timeout = 20s, std::uint64_t generation = 1) const {
    return join(context(timeout, generation));
  }

  // Events outside of the group under test.
  void signal(const std::string& event) const { board->set("event-" + event, {}); }
  void await(const std::string& event) const { board->get("event-" + event, 60s); }
  bool happened(const std::string& event) const {
    try {
      board->get("event-" + event, 0s);
      return true;
    } catch (const RecoverableError&) {
      return false;
    }
  }
};

using Body = std::function<void(Seat&)>;

// A backend and a way to run its ranks.
struct Backend {
  std::string name;
  std::function<void(int size, const Body& body)> run;  // body on every rank; its failures are the test's
  bool reports_size_mismatch = false;
};

inline void PrintTo(const Backend& backend, std::ostream* out) {
  *out << backend.name;
}

void run_as_threads(int size, const Join& join, const Body& body);
void run_as_processes(int size, const Join& join, const Body& body);

Backend memory_backend();
Backend gloo_threads();
Backend gloo_processes();
Join gloo_join(const std::string& interface = "", const std::string& address = "");

// What `action` throws; a failure of the test when it throws nothing or something else.
template <class Error>
Error thrown_by(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& e) {
    return e;
  } catch (const std::exception& e) {
    ADD_FAILURE() << "another exception: " << e.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  throw std::runtime_error("the test cannot go on");
}

}  // namespace dtrain::test
