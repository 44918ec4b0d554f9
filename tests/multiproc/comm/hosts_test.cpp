// SPDX-License-Identifier: Apache-2.0
//
// Gloo between two hosts: which address is offered, and what is said when it cannot be reached.
#include <gmock/gmock.h>

#include <cstdio>

#include "tests/multiproc/comm/host.h"

namespace dtrain::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::MatchesRegex;

constexpr const char* kAddress[] = {"10.77.0.1/24", "10.77.0.2/24"};

void swap_numbers(const Seat& seat, const Join& join) {
  auto context = seat.context();
  const auto group = join(context);
  float value = static_cast<float>(seat.rank + 1);
  group->all_reduce(&value, 1, DType::f32, ReduceOp::sum)->wait();
  EXPECT_EQ(value, 3.0f);
}

void on_two_hosts(const Body& body) {
  run_as_processes(2, {}, body);
}

TEST(Hosts, IPv4AndIPv6Addresses) {
  const std::string pairs[][2] = {{"10.77.0.1", "10.77.0.2"}, {"fd77::1", "fd77::2"}, {"[fd77::1]", "[fd77::2]"}};
  on_two_hosts([&](Seat& seat) {
    become_host(seat, "10.77.0.1/24 fd77::1/64", "10.77.0.2/24 fd77::2/64");
    std::uint64_t generation = 1;
    for (const auto& pair : pairs) {
      Seat again = seat;
      const auto join = gloo_join("", pair[seat.rank]);
      swap_numbers(again, [&](CommContext context) {
        context.generation = generation;
        return join(context);
      });
      ++generation;
    }
  });
}

TEST(Hosts, AnInterface) {
  on_two_hosts([](Seat& seat) {
    become_host(seat, kAddress[0], kAddress[1]);
    swap_numbers(seat, gloo_join("wire"));
  });
}

TEST(Hosts, AnInterfaceWithIPv6Alone) {
  on_two_hosts([](Seat& seat) {
    become_host(seat, "fd77::1/64", "fd77::2/64");
    swap_numbers(seat, gloo_join("wire"));
  });
}

TEST(Hosts, AnUnknownInterface) {
  on_two_hosts([](Seat& seat) {
    become_host(seat, kAddress[0], kAddress[1]);
    const auto error = thrown_by<UserError>([&] { gloo_join("eth7")(seat.context()); });
    EXPECT_STREQ(error.what(), "comm.interface: this host has no network interface 'eth7' with an address");
    EXPECT_EQ(error.hint(), "the interfaces with an address are: lo, wire");
    EXPECT_EQ(error.exit_code(), 2);
  });
}

TEST(Hosts, TheDefaultIsRefusedAndBothEndsAreNamed) {
  on_two_hosts([](Seat& seat) {
    become_host(seat, kAddress[0], kAddress[1]);
    const auto begin = std::chrono::steady_clock::now();
    const auto error = thrown_by<UserError>([&] { gloo_join()(seat.context()); });
    EXPECT_STREQ(
        error.what(),
        "comm gloo: rank 0 on host alpha (127.0.0.1) offers a loopback address, which rank 1 on host beta (127.0.0.1) "
        "cannot reach");
    EXPECT_EQ(error.hint(), "set comm.interface or comm.address to a network that both hosts share");
    EXPECT_LT(std::chrono::steady_clock::now() - begin, seat.context().timeout);
    seat.signal("read-" + std::to_string(seat.rank));
    seat.await("read-" + std::to_string(1 - seat.rank));
  });
}

// Debian's installer writes "127.0.1.1 NAME" into /etc/hosts.
TEST(Hosts, AHostNameThatMeansLoopback) {
  on_two_hosts([](Seat& seat) {
    become_host(seat, kAddress[0], kAddress[1]);
    const std::string name = seat.rank == 0 ? "alpha" : "beta";
    set_hosts_file("127.0.0.1 localhost\n127.0.1.1 " + name + "\n");
    const auto error = thrown_by<UserError>([&] { gloo_join("", name)(seat.context()); });
    EXPECT_THAT(error.what(), AllOf(HasSubstr("rank 0 on host alpha (127.0.1.1) offers a loopback address"),
                                    HasSubstr("rank 1 on host beta")));
    seat.signal("read-" + std::to_string(seat.rank));
    seat.await("read-" + std::to_string(1 - seat.rank));
  });
}

TEST(Hosts, AHostNameWithARoutableAddressToo) {
  on_two_hosts([](Seat& seat) {
    become_host(seat, kAddress[0], kAddress[1]);
    const std::string name = seat.rank == 0 ? "alpha" : "beta";
    set_hosts_file("127.0.1.1 " + name + "\n10.77.0." + std::to_string(seat.rank + 1) + " " + name + "\n");
    swap_numbers(seat, gloo_join("", name));
  });
}

TEST(Hosts, AnAddressWithoutARouteNamesBothEnds) {
  on_two_hosts([](Seat& seat) {
    become_host(seat, "10.77.0.1/24", "10.77.0.2/24 10.11.0.1/24");
    const auto error = thrown_by<RecoverableError>([&] {
      auto context = seat.context(1s);
      gloo_join("", seat.rank == 0 ? "10.77.0.1" : "10.11.0.1")(context);
    });
    const char* ends =
        seat.rank == 0 ? "rank 0 on host alpha \\(10.77.0.1\\) cannot connect to rank 1 on host beta \\(10.11.0.1\\).*"
                       : "rank 1 on host beta \\(10.11.0.1\\) cannot connect to rank 0 on host alpha \\(10.77.0.1\\).*";
    EXPECT_THAT(error.what(), MatchesRegex(ends));
    EXPECT_EQ(error.peer(), 1 - seat.rank);
  });
}

TEST(Hosts, ACutLinkRunsIntoTheTimeLimit) {
  on_two_hosts([](Seat& seat) {
    become_host(seat, kAddress[0], kAddress[1]);
    const auto group = gloo_join("wire")(seat.context(seat.rank == 0 ? 700ms : 20'000ms));
    if (seat.rank == 1) {
      ip("link set wire down");
      seat.signal("cut");
      return seat.await("over");
    }
    seat.await("cut");
    std::vector<std::byte> data(8);
    const auto error = thrown_by<RecoverableError>([&] { group->receive(data, 1, 1)->wait(); });
    EXPECT_EQ(error.kind(), RecoverableError::Kind::timeout) << error.what();
    EXPECT_EQ(error.peer(), 1);
    seat.signal("over");
  });
}

}  // namespace
}  // namespace dtrain::test

int main(int argc, char** argv) {
  testing::InitGoogleMock(&argc, argv);
  if (const auto why = dtrain::test::why_no_hosts(); !why.empty()) {
    std::printf("skipped: %s\n", why.c_str());
    return 77;
  }
  return RUN_ALL_TESTS();
}
