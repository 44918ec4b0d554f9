// SPDX-License-Identifier: Apache-2.0
//
// The stores that pass the suite.
#include "plugins/stores/local/local_store.h"
#include "tests/contract/store/store_contract.h"
#include "tests/support/memory_store.h"
#include "tests/support/temp_folder.h"

namespace dtrain {
namespace {

StoreFactory local() {
  return {[] {
    auto folder = std::make_shared<TempFolder>();
    return [folder] {
      // The deleter keeps the folder until the store is gone.
      return std::shared_ptr<Store>(new LocalStore(StoreContext{(folder->path() / "new" / "root").string()}),
                                    [folder](Store* store) { delete store; });
    };
  }};
}

StoreFactory memory() {
  return {[] {
    auto store = std::make_shared<MemoryStore>();
    return [store]() -> std::shared_ptr<Store> { return store; };
  }};
}

INSTANTIATE_TEST_SUITE_P(Local, StoreContract, testing::Values(local()));
INSTANTIATE_TEST_SUITE_P(Memory, StoreContract, testing::Values(memory()));  // the suite is about no file system

}  // namespace
}  // namespace dtrain
