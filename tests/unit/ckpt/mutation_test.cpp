// SPDX-License-Identifier: Apache-2.0
//
// Thousands of damaged headers and manifests, always the same ones. Each is read or refused with a UserError; nothing
// else may happen. The manifests and files get the checksums that belong to them, so that the damage comes past the
// first check.
#include <random>

#include "core/base/hash.h"
#include "core/ckpt/safetensors.h"
#include "tests/support/memory_store.h"
#include "tests/unit/ckpt/fixture.h"

namespace dtrain {
namespace {

// Words that parsers stumble over.
constexpr std::string_view kWords[] = {
    "0",
    "-1",
    "1e400",
    "9223372036854775807",
    "18446744073709551615",
    "18446744073709551616",
    "null",
    "[]",
    "{}",
    "true",
    "1.5",
    "\"\"",
    "\"F32\"",
    "\"\\u0000\"",
    "\"..\"",
    ",",
    ":",
    "\"",
    "[",
    "]",
    "{",
    "}",
    "\\",
    "4611686018427387904",
    "\xff",
    "NaN",
    "\"model.bias\"",
};

std::string mutated(std::string text, std::mt19937& random) {
  const auto at = [&] { return text.empty() ? 0 : random() % text.size(); };
  for (auto edits = 1 + random() % 4; edits > 0; --edits) {
    switch (random() % 6) {
      case 0:
        if (!text.empty()) text[at()] = static_cast<char>(random());
        break;
      case 1:
        text.erase(at(), random() % 8);
        break;
      case 2:
        text.insert(at(), kWords[random() % std::size(kWords)]);
        break;
      case 3:
        text.insert(at(), text.substr(at(), random() % 40));
        break;
      case 4: {  // a number becomes another
        const auto digit = text.find_first_of("0123456789", at());
        if (digit == std::string::npos) break;
        const auto end = std::min(text.find_first_not_of("0123456789", digit), text.size());
        text.replace(digit, end - digit, kWords[random() % 6]);
        break;
      }
      case 5:
        text.resize(at());
        break;
    }
  }
  return text;
}

struct Counts {
  int accepted = 0, refused = 0;
};

template <class Body>
void attempt(Counts& counts, Body&& body) {
  try {
    body();
    ++counts.accepted;
  } catch (const UserError& e) {
    EXPECT_FALSE(e.message().empty());
    ++counts.refused;
  }
}

TEST(Mutation, SafetensorsHeaders) {
  State state(1, 2);
  const auto slices = state.slices<TensorSlice>(0, 1);
  const auto layout = lay_out_safetensors(slices, {{"format", "pt"}});
  const auto header = layout.prefix.substr(8);
  const auto data = layout.bytes - layout.prefix.size();
  std::mt19937 random(7);
  Counts counts;
  for (int i = 0; i < 20'000; ++i) {
    const auto text = mutated(header, random);
    attempt(counts, [&] {
      const auto parsed = parse_safetensors_header(text, 8 + text.size() + data, "f");
      for (const auto& entry : parsed.tensors) {
        ASSERT_LE(entry.begin, entry.end);
        ASSERT_LE(entry.end, 8 + text.size() + data);
        ASSERT_EQ(entry.end - entry.begin,
                  static_cast<std::uint64_t>(element_count(entry.shape, entry.type).value()) * size_of(entry.type));
      }
    });
  }
  EXPECT_GT(counts.refused, 15'000);
  EXPECT_GT(counts.accepted, 10);  // changes of names and of white space
}

TEST(Mutation, Manifests) {
  MemoryStore store;
  CheckpointStore checkpoints(store);
  State state(1, 2);
  save(checkpoints, 1, state);
  const auto key = "step-000000001/manifest.json";
  const auto text = store.objects.at(key);
  const auto body = text.substr(0, text.rfind(",\"checksum\""));
  std::mt19937 random(8);
  Counts counts;
  for (int i = 0; i < 10'000; ++i) {
    const auto changed = mutated(body, random);
    store.objects[key] = changed + ",\"checksum\":\"" + sha256_hex(changed) + "\"}\n";
    attempt(counts, [&] {
      const auto checkpoint = checkpoints.open(1);
      checkpoint.verify();
      State target(0, 2);
      checkpoint.load(target.slices<TensorTarget>(0, 1));
      EXPECT_EQ(target, state);  // whatever was changed, it was not what the tensors are
    });
  }
  EXPECT_GT(counts.refused, 8'000);
  EXPECT_GT(counts.accepted, 10);
}

// Files that are damaged in spite of right checksums: another program wrote them.
TEST(Mutation, WholeFiles) {
  MemoryStore store;
  CheckpointStore checkpoints(store);
  State state(1, 2);
  save(checkpoints, 1, state, 1);
  const auto key = "step-000000001/rank-0.safetensors";
  const auto original = store.objects.at(key);
  auto manifest = checkpoints.open(1).manifest();
  std::mt19937 random(9);
  Counts counts;
  for (int i = 0; i < 5'000; ++i) {
    auto text = mutated(original, random);
    if (random() % 4 == 0 && text.size() > 8) text[random() % 8] = static_cast<char>(random());
    manifest.files[0].bytes = text.size();
    manifest.files[0].checksums.assign(text.empty() ? 0 : 1, xxh3_64(std::as_bytes(std::span(text))));
    store.objects[key] = text;
    store.objects["step-000000001/manifest.json"] = to_json(manifest);
    attempt(counts, [&] {
      const auto checkpoint = checkpoints.open(1);
      State target(0, 2);
      checkpoint.load(target.slices<TensorTarget>(0, 1));
      checkpoint.content_hash();
    });
  }
  EXPECT_GT(counts.refused, 2'000);
  EXPECT_GT(counts.accepted, 10);  // changes of data bytes
}

}  // namespace
}  // namespace dtrain
