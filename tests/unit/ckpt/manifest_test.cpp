// SPDX-License-Identifier: Apache-2.0
#include "core/ckpt/manifest.h"

#include <dtrain/error.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/base/hash.h"

namespace dtrain {
namespace {

using json = nlohmann::json;

FileEntry entry(const std::string& file, std::vector<FileEntry::Slice> slices) {
  return {{file, 100, 64, {1, 0xffffffffffffffff}}, std::move(slices)};
}

Manifest sample() {
  Manifest m;
  m.step = 7;
  m.updates = 6;
  m.metrics = {{"loss", 0.1 + 0.2}};
  m.created = "2026-01-31T12:00:00Z";
  m.dtrain_version = "0.1.0";
  const FileEntry files[] = {
      entry("rank-0.safetensors", {{"w", DType::f32, {10}, 0, 4}, {"b", DType::bf16, {}, 0, 1}}),
      entry("rank-1.safetensors", {{"w", DType::f32, {10}, 4, 6}}),
  };
  add_files(m, files);
  return m;
}

// The sample with one change, and the checksum that belongs to it.
template <class Change>
std::string changed(Change&& change) {
  auto value = json::parse(to_json(sample()));
  value.erase("checksum");
  change(value);
  auto text = value.dump();
  text.pop_back();
  return text + ",\"checksum\":\"" + sha256_hex(text) + "\"}\n";
}

std::string refusal(const std::string& text) {
  try {
    manifest_from_json(text, "m");
  } catch (const UserError& e) {
    return e.message();
  }
  return "accepted";
}

TEST(Manifest, RoundTrip) {
  const auto text = to_json(sample());
  const auto m = manifest_from_json(text, "m");
  EXPECT_EQ(to_json(m), text);
  EXPECT_EQ(m.metrics.at("loss"), 0.1 + 0.2);
  ASSERT_EQ(m.tensors.size(), 2u);
  EXPECT_EQ(m.tensors[1].slices.at(1).offset, 4);
  EXPECT_EQ(m.files.at(1).checksums.at(1), 0xffffffffffffffff);
  EXPECT_EQ(refusal(changed([](json&) {})), "accepted");
}

TEST(Manifest, RanksMustAgree) {
  const auto merge = [](std::vector<FileEntry> files) {
    Manifest m;
    add_files(m, files);
  };
  EXPECT_NO_THROW(merge({entry("a", {{"w", DType::f32, {2}, 0, 2}})}));
  EXPECT_THROW(merge({entry("a", {{"w", DType::f32, {2}, 0, 1}})}), InvariantError);
  EXPECT_THROW(merge({entry("a", {{"w", DType::f32, {2}, 0, 2}}), entry("b", {{"w", DType::f32, {2}, 0, 2}})}),
               InvariantError);
  EXPECT_THROW(merge({entry("a", {{"w", DType::f32, {2}, 0, 1}}), entry("b", {{"w", DType::f64, {2}, 1, 1}})}),
               InvariantError);
  EXPECT_THROW(merge({entry("a", {{"w", DType::f32, {2}, 0, 1}}), entry("b", {{"w", DType::f32, {1, 2}, 1, 1}})}),
               InvariantError);
  EXPECT_THROW(merge({entry("a", {{"w", DType::f32, {2}, 0, 1}}), entry("a", {{"w", DType::f32, {2}, 1, 1}})}),
               InvariantError);
  EXPECT_NO_THROW(merge({entry("a", {{"w", DType::f32, {0}, 0, 0}}), entry("b", {{"w", DType::f32, {0}, 0, 0}})}));
}

TEST(Manifest, RefusesNewerFormats) {
  EXPECT_EQ(refusal(changed([](json& m) { m["format"] = 2; })),
            "m: the checkpoint has format 2, this dtrain knows formats up to 1");
  EXPECT_EQ(refusal(changed([](json& m) { m["format"] = 0; })), "m: format 0 has never existed");
  EXPECT_EQ(refusal(changed([](json& m) { m.erase("format"); })), "m: 'format' is missing");
}

TEST(Manifest, RefusesADamagedOne) {
  auto text = to_json(sample());
  text[text.find("\"step\":7") + 7] = '8';
  EXPECT_THAT(refusal(text),
              testing::MatchesRegex("m: SHA-256 of bytes 0\\.\\.[0-9]+ is [0-9a-f]{64}, the file says [0-9a-f]{64}"));
  EXPECT_EQ(refusal("{\"format\":1}"), "m: does not end with its checksum");
  EXPECT_EQ(refusal("[]"), "m: not a JSON object");
  EXPECT_THAT(refusal(""), testing::StartsWith("m: not JSON: "));
}

TEST(Manifest, RefusesWhatDoesNotAddUp) {
  const auto tensor = [](auto change) { return changed([&](json& m) { change(m["tensors"][1]); }); };
  const auto file = [](auto change) { return changed([&](json& m) { change(m["files"][0]); }); };
  EXPECT_EQ(refusal(tensor([](json& t) { t["slices"].erase(0); })),
            "m: tensor 'w': elements from 0 on are held twice or not at all");
  EXPECT_EQ(refusal(tensor([](json& t) { t["slices"].erase(1); })),
            "m: tensor 'w': the slices hold 4 of its 10 elements");
  EXPECT_EQ(refusal(tensor([](json& t) { t["slices"][1]["offset"] = 3; })),
            "m: tensor 'w': elements from 3 on are held twice or not at all");
  EXPECT_EQ(refusal(tensor([](json& t) { t["slices"][1]["count"] = 7; })),
            "m: tensor 'w': elements from 4 on are held twice or not at all");
  EXPECT_EQ(refusal(tensor([](json& t) { t["slices"][1]["count"] = 9223372036854775807; })),
            "m: tensor 'w': elements from 4 on are held twice or not at all");
  EXPECT_EQ(refusal(tensor([](json& t) { t["shape"] = {std::int64_t{1} << 62}; })),
            "m: tensor 'w': impossible shape F32 [4611686018427387904]");
  EXPECT_EQ(refusal(tensor([](json& t) { t["slices"][0]["file"] = "other"; })),
            "m: tensor 'w', a slice: file 'other' is not in the list of files");
  EXPECT_EQ(refusal(tensor([](json& t) { t["name"] = "b"; })), "m: tensor 'b' is listed twice or out of order");
  EXPECT_EQ(refusal(tensor([](json& t) { t["dtype"] = "F31"; })),
            "m: tensor 'w': unknown dtype 'F31' (known: F32, F64, F16, BF16, I64, I32, U16, U8)");
  EXPECT_EQ(refusal(file([](json& f) { f["name"] = "../../etc/passwd"; })),
            "m: file '../../etc/passwd': not a file name");
  EXPECT_EQ(refusal(file([](json& f) { f["name"] = "rank-1.safetensors"; })),
            "m: file 'rank-1.safetensors' is listed twice");
  EXPECT_EQ(refusal(file([](json& f) { f["chunk_bytes"] = 0; })),
            "m: file 'rank-0.safetensors': chunk_bytes 0 is not in 1 .. 67108864");
  EXPECT_EQ(refusal(file([](json& f) { f["bytes"] = 129; })), "m: file 'rank-0.safetensors': 2 checksums for 3 chunks");
  EXPECT_EQ(refusal(file([](json& f) { f["checksums"][0] = "00"; })),
            "m: file 'rank-0.safetensors': a checksum is not 16 digits");
  EXPECT_EQ(refusal(file([](json& f) { f["checksums"][0] = "000000000000000g"; })),
            "m: file 'rank-0.safetensors': a checksum is not hexadecimal");
  EXPECT_EQ(refusal(changed([](json& m) { m["metrics"]["loss"] = "low"; })),
            "m: metrics: metric 'loss' is not a number");
}

TEST(Manifest, RefusesAWrongReportOfARank) {
  const auto text = to_json(entry("rank-0.safetensors", {{"w", DType::f32, {2}, 0, 2}}));
  EXPECT_EQ(to_json(file_entry_from_json(text)), text);
  EXPECT_THROW(file_entry_from_json(text.substr(1)), UserError);
  EXPECT_THROW(file_entry_from_json("{}"), UserError);
}

}  // namespace
}  // namespace dtrain
