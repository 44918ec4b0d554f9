// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/ckpt/fixture.h"

namespace dtrain {
namespace {

TEST_F(CheckpointTest, LoadsOnAnyNumberOfRanks) {
  State state(10);
  for (const int writers : {1, 2, 3, 8}) {
    save(checkpoints_, writers, state, writers);
    for (const int readers : {1, 2, 3, 7})
      EXPECT_EQ(load(checkpoints_.open(writers), readers), state) << writers << readers;
  }
}

TEST_F(CheckpointTest, ManifestKeepsWhatItWasGiven) {
  State state(3);
  save(checkpoints_, 3, state, 2, {{"loss", 0.1}, {"worst", std::numeric_limits<double>::infinity()}});
  const auto m = checkpoints_.open(3).manifest();
  EXPECT_EQ(m.step, 3);
  EXPECT_EQ(m.updates, 2);
  EXPECT_EQ(m.recipe, "[run]\nname = \"täst\"\n");
  EXPECT_EQ(m.bit_domain.at("threads"), "1");
  EXPECT_EQ(m.metrics.at("loss"), 0.1);
  EXPECT_TRUE(std::isinf(m.metrics.at("worst")));
  EXPECT_EQ(m.ledger, R"({"position":12})");
  ASSERT_EQ(m.plugins.size(), 1u);
  EXPECT_EQ(m.plugins[0].build_id, "abcd");
}

TEST_F(CheckpointTest, ContentHashDoesNotDependOnTheLayout) {
  State state(5);
  save(checkpoints_, 5, state, 1);
  const auto hash = checkpoints_.open(5).content_hash();
  for (const int world : {2, 3, 8}) {
    TempFolder other;
    LocalStore store{StoreContext{other.path().string()}};
    CheckpointStore checkpoints(store);
    save(checkpoints, 5, state, world);
    EXPECT_EQ(checkpoints.open(5).content_hash(), hash) << world;
    state.tensors.at("model.bias").bytes[3] ^= std::byte{1};
    save(checkpoints, 5, state, world);  // replaces it: other content
    EXPECT_NE(checkpoints.open(5).content_hash(), hash) << world;
    state.tensors.at("model.bias").bytes[3] ^= std::byte{1};
  }
}

}  // namespace
}  // namespace dtrain
