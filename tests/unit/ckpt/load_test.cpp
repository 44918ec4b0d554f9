// SPDX-License-Identifier: Apache-2.0
//
// What may and what may not be loaded into what.
#include "tests/unit/ckpt/fixture.h"

namespace dtrain {
namespace {

class LoadTest : public CheckpointTest {
 protected:
  LoadTest() { save(checkpoints_, 1, state_, 3); }

  std::string refusal(State& target) {
    const auto before = target;
    const auto text = message_of<UserError>([&] { checkpoints_.open(1).load(target.slices<TensorTarget>(0, 1)); });
    EXPECT_EQ(target, before) << "written to in spite of the mismatch";
    return text;
  }

  State state_{1};
};

TEST_F(LoadTest, NamesWhatIsMissingExtraAndDifferent) {
  State target(0);
  target.tensors.erase("model.bias");
  target.add("model.biases", DType::f32, {7}, 0);
  target.add("model.weight", DType::f32, {20, 50}, 0);
  target.add("model.scale", DType::f16, {}, 0);
  EXPECT_EQ(refusal(target),
            "the checkpoint checkpoints/step-000000001 does not fit this run:\n"
            "  not in the checkpoint (1): model.biases\n"
            "  in the checkpoint only (1): model.bias\n"
            "  different (2): model.scale is BF16 [] there and F16 [] here, model.weight is F32 [50, 20] there and F32 "
            "[20, 50] "
            "here");
}

TEST_F(LoadTest, ListsTenAndCountsAll) {
  State target(0);
  for (int i = 10; i < 35; ++i) target.add("model.x" + std::to_string(i), DType::f32, {1}, 0);
  EXPECT_EQ(
      refusal(target),
      "the checkpoint checkpoints/step-000000001 does not fit this run:\n"
      "  not in the checkpoint (25): model.x10, model.x11, model.x12, model.x13, model.x14, model.x15, model.x16, "
      "model.x17, model.x18, model.x19, and 15 more");
}

TEST_F(LoadTest, MayAskForThePartsItNeeds) {
  State target(0);
  target.tensors.erase("optimizer.momentum.model.weight");
  const std::string prefixes[] = {"model.", "buffer."};
  checkpoints_.open(1).load(target.slices<TensorTarget>(0, 1), prefixes);
  EXPECT_EQ(target.tensors.at("model.weight").bytes, state_.tensors.at("model.weight").bytes);
  target.tensors.erase("model.bias");
  EXPECT_EQ(
      message_of<UserError>([&] { checkpoints_.open(1).load(target.slices<TensorTarget>(0, 1), prefixes); }),
      "the checkpoint checkpoints/step-000000001 does not fit this run:\n  in the checkpoint only (1): model.bias");
}

TEST_F(LoadTest, FillsOverlappingRanges) {
  std::vector<std::byte> first(10 * 4), second(990 * 4);
  State target(0);
  auto targets = target.slices<TensorTarget>(0, 1);
  std::erase_if(targets, [](const auto& t) { return t.name == "model.weight"; });
  targets.push_back({"model.weight", DType::f32, {50, 20}, 495, 10, first});
  targets.push_back({"model.weight", DType::f32, {50, 20}, 5, 990, second});
  checkpoints_.open(1).load(targets);
  const std::span<const std::byte> all = state_.tensors.at("model.weight").bytes;
  EXPECT_TRUE(std::ranges::equal(first, all.subspan(495 * 4, 10 * 4)));
  EXPECT_TRUE(std::ranges::equal(second, all.subspan(5 * 4, 990 * 4)));
}

TEST_F(LoadTest, WritersThatForgetAnElementAreCaught) {
  const auto nonce = make_nonce();
  auto slices = state_.slices<TensorSlice>(0, 1);
  slices.back().count -= 1;
  slices.back().data = slices.back().data.first(slices.back().data.size() - size_of(slices.back().type));
  const FileEntry entries[] = {checkpoints_.write(2, nonce, 0, slices)};
  Manifest manifest;
  manifest.step = 2;
  EXPECT_THROW(checkpoints_.commit(nonce, manifest, entries), InvariantError);
  checkpoints_.discard(2, nonce);
  EXPECT_EQ(checkpoints_.list().size(), 1u);
}

TEST_F(LoadTest, AManifestThatContradictsItsFilesIsRefused) {
  // Files whose checksums are right but which hold other tensors than the manifest says.
  auto text = read_file(root() / "step-000000001" / "manifest.json");
  auto manifest = manifest_from_json(text, "m");
  for (auto& tensor : manifest.tensors) {
    if (tensor.name == "model.bias") tensor.name = "model.base";
  }
  std::ranges::sort(manifest.tensors, {}, &TensorRecord::name);
  write_file(root() / "step-000000001" / "manifest.json", to_json(manifest));
  EXPECT_EQ(message_of<UserError>([&] { checkpoints_.open(1).verify(); }),
            "checkpoints/step-000000001/rank-0.safetensors: tensor 'model.base[0:2]' of the manifest is missing");
  for (auto& tensor : manifest.tensors) {
    if (tensor.name == "model.base") tensor.name = "model.bias";
    if (tensor.name == "model.bias") tensor.type = DType::i32;
  }
  write_file(root() / "step-000000001" / "manifest.json", to_json(manifest));
  EXPECT_EQ(
      message_of<UserError>([&] { checkpoints_.open(1).verify(); }),
      "checkpoints/step-000000001/rank-0.safetensors: tensor 'model.bias[0:2]' is F32 [2], the manifest says I32 [2]");
}

}  // namespace
}  // namespace dtrain
