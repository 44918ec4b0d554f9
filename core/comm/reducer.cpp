// SPDX-License-Identifier: Apache-2.0
#include "core/comm/reducer.h"

#include <dtrain/error.h>

#include <utility>

#include "core/comm/canonical_reducer.h"
#include "core/comm/local_reducer.h"
#include "core/comm/native_reducer.h"

namespace dtrain {

std::unique_ptr<Reducer> make_canonical_reducer(Communicator* group, std::vector<LaneRange> owners, int lanes,
                                                std::vector<Bucket> buckets) {
  ReductionLayout layout(std::move(owners), lanes, std::move(buckets));
  if (group == nullptr || group->size() == 1) return std::make_unique<LocalReducer>(layout, 0);
  layout.check_same_everywhere(*group);
  return std::make_unique<CanonicalReducer>(*group, std::move(layout));
}

std::unique_ptr<Reducer> make_native_reducer(Communicator* group, std::vector<LaneRange> owners, int lanes,
                                             std::vector<Bucket> buckets) {
  ReductionLayout layout(std::move(owners), lanes, std::move(buckets));
  if (group == nullptr || group->size() == 1) return std::make_unique<LocalReducer>(layout, 0);
  if (!group->capabilities().contains("all_reduce")) {
    throw UserError("train.reduction = \"native\": the communication backend has no all-reduce of its own",
                    "use reduction = \"canonical\"");
  }
  layout.check_same_everywhere(*group);
  return std::make_unique<NativeReducer>(*group, std::move(layout));
}

}  // namespace dtrain
