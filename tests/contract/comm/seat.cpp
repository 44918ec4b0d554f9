// SPDX-License-Identifier: Apache-2.0
#include "tests/contract/comm/seat.h"

#include <thread>
#include <vector>

#include "core/comm/memory_transport.h"
#include "tests/contract/comm/board.h"
#include "tests/contract/comm/children.h"
#include "tests/contract/plugin_component.h"
#include "tests/support/temp_folder.h"

namespace dtrain::test {

void run_as_threads(int size, const Join& join, const Body& body) {
  MemoryBoard board;
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, rank] {
      Seat seat{.rank = rank, .size = size, .board = &board, .join = join};
      try {
        body(seat);
      } catch (const std::exception& e) {
        ADD_FAILURE() << "rank " << rank << ": " << e.what();
      }
    });
  }
}

void run_as_processes(int size, const Join& join, const Body& body) {
  const TempFolder folder;
  Children children(folder.path(), size, join, body);
  for (int rank = 0; rank < size; ++rank) EXPECT_EQ(children.wait(rank), "exit 0") << "rank " << rank;
}

Join gloo_join(const std::string& interface, const std::string& address) {
  const auto plugin = std::make_shared<PluginComponent<CommKind>>(DTRAIN_PLUGINS "/comm_gloo.so", "gloo");
  return [plugin, interface, address](const CommContext& context) {
    auto group = plugin->make(context, {{"interface", interface}, {"address", address}});
    const auto destroy = group.get_deleter();
    return CommunicatorPtr(group.release(), [destroy](Communicator* c) { destroy(c); });
  };
}

Backend memory_backend() {
  return {.name = "memory",
          .run =
              [](int size, const Body& body) {
                MemoryHub hub;
                run_as_threads(
                    size,
                    [&hub](const CommContext& context) {
                      return CommunicatorPtr(hub.join(context).release(), [](Communicator* c) { delete c; });
                    },
                    body);
              },
          .reports_size_mismatch = true};
}

Backend gloo_threads() {
  return {.name = "gloo_threads", .run = [](int size, const Body& body) { run_as_threads(size, gloo_join(), body); }};
}

Backend gloo_processes() {
  return {.name = "gloo_processes",
          .run = [](int size, const Body& body) { run_as_processes(size, gloo_join(), body); }};
}

}  // namespace dtrain::test
