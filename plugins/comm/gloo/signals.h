// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <csignal>

namespace dtrain::gloo_plugin {

// Threads start with their maker's signal mask; signals are for the threads that expect them.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

}  // namespace dtrain::gloo_plugin
