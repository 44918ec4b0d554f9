// SPDX-License-Identifier: Apache-2.0
//
// Checkpoints of every format there ever was are read for ever. Formats are added here, never changed.
#include "tests/unit/ckpt/fixture.h"

namespace dtrain {
namespace {

TEST(CheckpointFormat, One) {
  LocalStore store{StoreContext{std::string(DTRAIN_SOURCE) + "/tests/fixtures/formats/checkpoint-1"}};
  const Checkpoint checkpoint(store, "", "");
  checkpoint.verify();
  const auto& m = checkpoint.manifest();
  EXPECT_EQ(m.format, 1);
  EXPECT_EQ(m.step, 42);
  EXPECT_EQ(m.updates, 41);
  EXPECT_EQ(m.bit_domain.at("libtorch"), "1.13.1");
  EXPECT_EQ(m.recipe, "[run]\nname = \"first\"\n");
  EXPECT_EQ(m.identity, std::string(64, 'a'));
  EXPECT_EQ(m.trajectory, std::string(64, 'b'));
  EXPECT_EQ(m.plugins.at(0).build_id, "0123456789abcdef");
  EXPECT_EQ(m.ledger, "{\"position\":2688}");
  EXPECT_EQ(m.metrics.at("loss"), 0.125);
  EXPECT_TRUE(std::isnan(m.metrics.at("perplexity")));
  EXPECT_EQ(m.created, "2026-01-31T12:00:00Z");
  State target(0, 3);
  checkpoint.load(target.slices<TensorTarget>(0, 1));
  EXPECT_EQ(target, State(42, 3));
  // Computed by a program of another language from the description in checkpoint.h.
  EXPECT_EQ(checkpoint.content_hash(), "b0dff06f761957692a2002b295ea976af05ff31f32b4a31a3d571945b940187f");
}

}  // namespace
}  // namespace dtrain
