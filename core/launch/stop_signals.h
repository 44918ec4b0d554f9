// SPDX-License-Identifier: Apache-2.0
//
// The signals that ask a run to stop: SIGINT, SIGTERM, SIGHUP. Every process of a run blocks them and reads them from a
// descriptor, so that they arrive between two steps of its loop and never inside a library.
#pragma once

#include <initializer_list>

#include "core/base/unique_fd.h"

namespace dtrain {

// Blocks the stop signals and `more` in the calling thread and those it starts; ignores SIGPIPE.
void block_stop_signals(std::initializer_list<int> more = {});

// A non-blocking descriptor that delivers the stop signals and `more`. std::system_error.
UniqueFd stop_signal_fd(std::initializer_list<int> more = {});

// The next pending signal, 0 when there is none.
int read_signal(int fd);

}  // namespace dtrain
