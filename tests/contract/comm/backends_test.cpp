// SPDX-License-Identifier: Apache-2.0
//
// The backends that pass the suites.
#include "tests/contract/comm/comm_contract.h"

namespace dtrain::test {
namespace {

#if defined(__SANITIZE_THREAD__)
// Gloo itself is not built for the thread sanitizer, which would report its every lock.
const auto kBackends = testing::Values(memory_backend());
#else
const auto kBackends = testing::Values(memory_backend(), gloo_threads(), gloo_processes());
#endif

std::string name(const testing::TestParamInfo<Backend>& info) {
  return info.param.name;
}

INSTANTIATE_TEST_SUITE_P(All, CommContract, kBackends, name);
INSTANTIATE_TEST_SUITE_P(All, ReductionContract, kBackends, name);

}  // namespace
}  // namespace dtrain::test
