// SPDX-License-Identifier: Apache-2.0
#include "core/base/frames.h"
#include "core/launch/messages.h"
#include "core/launch/processes.h"
#include "core/launch/runtime_library.h"

namespace dtrain {

int host_process_main() {
  using Entry = int (*)(int);
  try {
    return reinterpret_cast<Entry>(runtime_entry("dtrain_runtime_host"))(kControlFd);
  } catch (...) {
    FrameSocket agent{UniqueFd(kControlFd)};
    agent.send(static_cast<std::uint8_t>(Message::failed), encode(last_words_of_current_exception()));
    agent.drain();
    return 1;
  }
}

}  // namespace dtrain
