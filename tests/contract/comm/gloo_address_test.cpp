// SPDX-License-Identifier: Apache-2.0
//
// The messages of comm.interface and comm.address.
#include "tests/contract/comm/comm_contract.h"

namespace dtrain::test {
namespace {

UserError refused(const std::string& interface, const std::string& address) {
  return thrown_by<UserError>([&] {
    gloo_join(interface,
              address)({.rank = 0, .size = 1, .generation = 1, .group = "world", .timeout = 1s, .rendezvous = nullptr});
  });
}

TEST(GlooAddress, UnknownInterfaceListsThoseThereAre) {
  const auto error = refused("nosuch0", "");
  EXPECT_STREQ(error.what(), "comm.interface: this host has no network interface 'nosuch0' with an address");
  EXPECT_THAT(error.hint(), testing::MatchesRegex("the interfaces with an address are: (.*, )?lo(, .*)?"));
  EXPECT_EQ(error.exit_code(), 2);
}

TEST(GlooAddress, BothOptions) {
  const auto error = refused("lo", "127.0.0.1");
  EXPECT_STREQ(error.what(), "comm: both interface = \"lo\" and address = \"127.0.0.1\"");
  EXPECT_EQ(error.hint(), "keep one of the two");
}

TEST(GlooAddress, AddressOfAnotherHost) {
  const auto error = refused("", "192.0.2.1");  // RFC 5737: nobody's
  EXPECT_STREQ(error.what(), "comm.address: '192.0.2.1' is not an address of this host");
  EXPECT_EQ(error.hint(), "give a name or address of this host, or comm.interface");
}

TEST(GlooAddress, NameThatDoesNotResolve) {
  EXPECT_THAT(refused("", "no.such.host.invalid").what(),
              testing::StartsWith("comm.address: 'no.such.host.invalid' cannot be resolved: "));
}

#if !defined(__SANITIZE_THREAD__)
TEST(GlooAddress, EveryFormOfTheLoopbackAddressConnects) {
  for (const auto* address : {"127.0.0.1", "127.0.1.1", "localhost", "::1", "[::1]"}) {
    SCOPED_TRACE(address);
    run_as_threads(2, gloo_join("", address), [](Seat& seat) {
      const auto group = seat.group();
      int value = seat.rank;
      group->all_reduce(&value, 1, DType::i32, ReduceOp::max)->wait();
      EXPECT_EQ(value, 1);
    });
  }
  run_as_threads(2, gloo_join("lo"), [](Seat& seat) { seat.group(); });
}

TEST(GlooAddress, BothFamiliesInOneGroup) {
  const auto four = gloo_join("", "127.0.0.1"), six = gloo_join("", "::1");
  run_as_threads(
      2, [&](const CommContext& context) { return (context.rank == 0 ? four : six)(context); },
      [](Seat& seat) {
        const auto error = thrown_by<UserError>([&] { seat.group(); });
        EXPECT_THAT(error.what(), testing::MatchesRegex("comm gloo: rank 0 on host .* \\(127.0.0.1\\) uses IPv4, "
                                                        "rank 1 on host .* \\(::1\\) uses IPv6"));
        EXPECT_EQ(error.hint(), "set comm.address so that all ranks use one address family");
        // Both must have read the other's card.
        seat.signal("seen-" + std::to_string(seat.rank));
        seat.await("seen-" + std::to_string(1 - seat.rank));
      });
}
#endif

}  // namespace
}  // namespace dtrain::test
