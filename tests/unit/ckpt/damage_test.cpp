// SPDX-License-Identifier: Apache-2.0
//
// Cut and flipped files are found, named and passed over.
#include <gmock/gmock.h>

#include "tests/support/memory_store.h"
#include "tests/unit/ckpt/fixture.h"

namespace dtrain {
namespace {

using testing::HasSubstr;
using testing::MatchesRegex;

void flip(std::string& text, std::size_t at) {
  text[at] = static_cast<char>(text[at] ^ 0x10);
}

class DamageTest : public CheckpointTest {
 protected:
  DamageTest() {
    for (const auto step : {10, 20}) {
      State state(step);
      save(checkpoints_, step, state);
    }
  }
  std::filesystem::path file(const std::string& name) const { return root() / "step-000000020" / name; }

  // Damages step 20 and returns why it is passed over.
  std::string fall_back() {
    const auto newest = checkpoints_.newest_verified();
    EXPECT_TRUE(newest.checkpoint.has_value());
    EXPECT_EQ(newest.checkpoint->manifest().step, 10);
    EXPECT_EQ(load(*newest.checkpoint), State(10));
    EXPECT_EQ(newest.skipped.size(), 1u);
    EXPECT_EQ(newest.skipped.at(0).folder, "step-000000020");
    const auto explicitly = message_of<UserError>([&] { checkpoints_.open(20).verify(); });
    EXPECT_EQ(explicitly, newest.skipped.at(0).reason);
    return explicitly;
  }
};

TEST_F(DamageTest, NothingIsWrongAtFirst) {
  const auto newest = checkpoints_.newest_verified();
  EXPECT_EQ(newest.checkpoint->manifest().step, 20);
  EXPECT_TRUE(newest.skipped.empty());
}

TEST_F(DamageTest, OneByteCutFromATensorFile) {
  const auto path = file("rank-1.safetensors");
  const auto size = std::filesystem::file_size(path);
  std::filesystem::resize_file(path, size - 1);
  EXPECT_EQ(fall_back(), "checkpoints/step-000000020/rank-1.safetensors: has " + std::to_string(size - 1) +
                             " bytes, the manifest says " + std::to_string(size));
}

TEST_F(DamageTest, OneByteFlippedInATensorFile) {
  auto text = read_file(file("rank-0.safetensors"));
  flip(text, text.size() / 2);
  write_file(file("rank-0.safetensors"), text);
  EXPECT_THAT(fall_back(), MatchesRegex("checkpoints/step-000000020/rank-0.safetensors: bytes 0\\.\\." +
                                        std::to_string(text.size() - 1) +
                                        " have checksum [0-9a-f]{16}, the manifest says [0-9a-f]{16}"));
}

TEST_F(DamageTest, OneByteFlippedBeyondTheFirstChunk) {
  State big(30, 20'000);
  save(checkpoints_, 30, big, 1);
  const auto path = root() / "step-000000030" / "rank-0.safetensors";
  auto text = read_file(path);
  ASSERT_GT(text.size(), 2u << 20);
  flip(text, (1 << 20) + 5);
  write_file(path, text);
  const auto newest = checkpoints_.newest_verified();
  EXPECT_EQ(newest.checkpoint->manifest().step, 20);
  EXPECT_THAT(newest.skipped.at(0).reason, HasSubstr("rank-0.safetensors: bytes 1048576..2097151 have checksum"));
  // A load that does not touch the damaged chunk's file range still reads right bytes; one that does refuses.
  EXPECT_THAT(message_of<UserError>([&] {
                State target(0, 20'000);
                checkpoints_.open(30).load(target.slices<TensorTarget>(0, 1));
              }),
              HasSubstr("bytes 1048576..2097151"));
}

TEST_F(DamageTest, OneByteCutFromTheManifest) {
  std::filesystem::resize_file(file("manifest.json"), std::filesystem::file_size(file("manifest.json")) - 1);
  EXPECT_EQ(fall_back(), "checkpoints/step-000000020/manifest.json: does not end with its checksum");
}

TEST_F(DamageTest, OneByteFlippedInTheManifest) {
  auto text = read_file(file("manifest.json"));
  flip(text, text.find("\"step\":20") + 8);
  write_file(file("manifest.json"), text);
  EXPECT_THAT(fall_back(), testing::ContainsRegex("manifest.json: (SHA-256 of bytes 0\\.\\.|not JSON: )"));
}

TEST_F(DamageTest, MissingFile) {
  std::filesystem::remove(file("rank-1.safetensors"));
  EXPECT_EQ(fall_back(), "checkpoints/step-000000020/rank-1.safetensors: the file is missing");
}

TEST_F(DamageTest, MissingManifestMeansIncomplete) {
  std::filesystem::remove(file("manifest.json"));
  const auto newest = checkpoints_.newest_verified();
  EXPECT_EQ(newest.checkpoint->manifest().step, 10);
  EXPECT_EQ(newest.skipped.at(0).reason, "incomplete: the save did not end");
  EXPECT_EQ(message_of<UserError>([&] { checkpoints_.open(20); }),
            "checkpoints/step-000000020 is not a complete checkpoint: it has no manifest.json");
}

TEST_F(DamageTest, FilesOfAnotherStepAreNotAccepted) {
  std::filesystem::copy_file(root() / "step-000000010" / "rank-0.safetensors", file("rank-0.safetensors"),
                             std::filesystem::copy_options::overwrite_existing);
  EXPECT_THAT(fall_back(), HasSubstr("rank-0.safetensors: bytes 0.."));
}

TEST_F(DamageTest, ComesBackToADamagedStep) {
  std::filesystem::resize_file(file("rank-1.safetensors"), 100);
  State state(21);
  save(checkpoints_, 20, state, 3);
  EXPECT_EQ(load(checkpoints_.newest_verified().checkpoint.value()), state);
  EXPECT_EQ(checkpoints_.list().size(), 2u);
}

TEST_F(DamageTest, KeepsAnEqualCheckpointOfTheSameStep) {
  const auto before = read_file(file("manifest.json"));
  State state(20);
  save(checkpoints_, 20, state, 3);  // the same content, cut otherwise
  EXPECT_EQ(read_file(file("manifest.json")), before);
  EXPECT_EQ(checkpoints_.list().size(), 2u);
}

// Every single byte of every file matters.
TEST(Damage, EveryFlippedByteIsFound) {
  MemoryStore store;
  CheckpointStore checkpoints(store);
  State state(1, 1);
  save(checkpoints, 1, state);
  checkpoints.open(1).verify();
  std::size_t flips = 0;
  for (auto& [key, text] : store.objects) {
    for (std::size_t i = 0; i < text.size(); ++i, ++flips) {
      flip(text, i);
      EXPECT_THROW(checkpoints.open(1).verify(), UserError) << key << " byte " << i;
      flip(text, i);
    }
  }
  EXPECT_GT(flips, 2000u);
  checkpoints.open(1).verify();
}

// A store that is down is not a store without checkpoints.
TEST(Damage, AStoreThatFailsIsNotEmpty) {
  class Down final : public Store {
   public:
    explicit Down(MemoryStore& store) : store_(store) {}
    std::unique_ptr<ObjectWriter> create(const std::string& key) override { return store_.create(key); }
    std::unique_ptr<ObjectReader> open(const std::string& key) const override {
      throw RecoverableError(RecoverableError::Kind::store_unavailable, "cannot open " + key + ": Input/output error");
    }
    bool exists(const std::string& key) const override { return store_.exists(key); }
    std::vector<ObjectInfo> list(const std::string& prefix) const override { return store_.list(prefix); }
    void remove(const std::string& prefix) override { store_.remove(prefix); }
    void publish(const std::string& a, const std::string& b) override { store_.publish(a, b); }

   private:
    MemoryStore& store_;
  };
  MemoryStore memory;
  CheckpointStore good(memory);
  State state(1);
  save(good, 1, state);
  Down down(memory);
  EXPECT_EQ(message_of<RecoverableError>([&] { CheckpointStore(down).newest_verified(); }),
            "cannot open step-000000001/manifest.json: Input/output error");
}

}  // namespace
}  // namespace dtrain
