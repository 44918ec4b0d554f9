// SPDX-License-Identifier: Apache-2.0
//
// Malformed files: each is refused with the file's and the tensor's name, and nothing outside the file is read.
#include "core/ckpt/safetensors.h"

#include <gmock/gmock.h>

#include <cstdio>
#include <memory>

#include "core/base/hash.h"
#include "tests/support/memory_store.h"
#include "tests/unit/ckpt/fixture.h"

namespace dtrain {
namespace {

std::string file_of(std::string_view header, std::size_t data_bytes, std::uint64_t length = 0) {
  std::string out;
  if (length == 0) length = header.size();
  for (int i = 0; i < 8; ++i) out.push_back(static_cast<char>(length >> (8 * i)));
  out += header;
  out.append(data_bytes, 'd');
  return out;
}

SafetensorsHeader parse(std::string text) {
  MemoryStore store;
  store.objects["f"] = std::move(text);
  return read_safetensors_header(*store.open("f"), "f.safetensors");
}

std::string refusal(const std::string& text) {
  return message_of<UserError>([&] { parse(text); });
}

TEST(Safetensors, ReadsWhatOthersWrite) {
  const auto header =
      parse(file_of(R"({"b":{"shape":[2],"dtype":"BF16","data_offsets":[12,16]},"__metadata__":{"format":"np"},)"
                    R"("a":{"dtype":"F32","shape":[3,1],"data_offsets":[0,12]},"none":{"dtype":"U8","shape":[0],)"
                    R"("data_offsets":[12,12]},"scalar":{"dtype":"I64","shape":[],"data_offsets":[16,24]}}   )",
                    24));
  ASSERT_EQ(header.tensors.size(), 4u);
  EXPECT_EQ(header.tensors[0].name, "a");
  EXPECT_EQ(header.tensors[1].name, "none");
  EXPECT_EQ(header.find("b")->end - header.find("b")->begin, 4u);
  EXPECT_EQ(header.find("scalar")->shape, std::vector<std::int64_t>());
  EXPECT_EQ(header.find("c"), nullptr);
  EXPECT_EQ(header.metadata.at("format"), "np");
}

TEST(Safetensors, EmptyFileOfNoTensors) {
  EXPECT_TRUE(parse(file_of("{}", 0)).tensors.empty());
}

TEST(Safetensors, RefusesBadSizes) {
  EXPECT_EQ(refusal("1234567"), "f.safetensors: not a safetensors file: it has 7 bytes, the header size alone takes 8");
  EXPECT_EQ(
      refusal(file_of("{}", 0, std::uint64_t{1} << 63)),
      "f.safetensors: safetensors header of 9223372036854775808 bytes (the file has 2 after the size, the limit is "
      "100000000)");
  EXPECT_EQ(refusal(file_of("{}", 0, 3)),
            "f.safetensors: safetensors header of 3 bytes (the file has 2 after the size, the limit is 100000000)");
  EXPECT_EQ(
      refusal(file_of("{}", 0, ~std::uint64_t{0})),
      "f.safetensors: safetensors header of 18446744073709551615 bytes (the file has 2 after the size, the limit is "
      "100000000)");
}

TEST(Safetensors, RefusesBadJson) {
  EXPECT_EQ(refusal(file_of("hello", 0)), "f.safetensors: the safetensors header does not begin with '{'");
  EXPECT_EQ(refusal(file_of("", 5, 0)), "f.safetensors: the safetensors header does not begin with '{'");
  EXPECT_THAT(refusal(file_of("{\"a\":", 0)), testing::StartsWith("f.safetensors: not JSON: "));
  EXPECT_THAT(refusal(file_of("{\"\xff\":{}}", 0)), testing::StartsWith("f.safetensors: not JSON: "));
  EXPECT_EQ(refusal(file_of("{\"a\":" + std::string(100'000, '['), 0)), "f.safetensors: JSON nested more than 32 deep");
  EXPECT_EQ(refusal(file_of(R"({"a":[]})", 0)), "f.safetensors: tensor 'a': not a JSON object");
  EXPECT_EQ(refusal(file_of(R"({"__metadata__":{"a":1}})", 0)), "f.safetensors: '__metadata__': 'a' is not a string");
}

struct Bad {
  const char* header;
  std::size_t data_bytes;
  const char* message;
};

TEST(Safetensors, RefusesBadTensors) {
  const Bad cases[] = {
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"a":{"dtype":"F32","shape":[2],"data_offsets":[8,16]}})",
       16, "'a' appears twice"},
      {R"({"a":{"dtype":"F32","shape":[2],"shape":[2],"data_offsets":[0,8]}})", 8, "'shape' appears twice"},
      {R"({"a":{"dtype":"F99","shape":[2],"data_offsets":[0,8]}})", 8,
       "tensor 'a': unknown dtype 'F99' (known: F32, F64, F16, BF16, I64, I32, U16, U8)"},
      {R"({"a":{"dtype":7,"shape":[2],"data_offsets":[0,8]}})", 8, "tensor 'a': 'dtype' is not a string"},
      {R"({"a":{"shape":[2],"data_offsets":[0,8]}})", 8, "tensor 'a': 'dtype' is missing"},
      {R"({"a":{"dtype":"F32","shape":[2]}})", 8, "tensor 'a': 'data_offsets' is missing"},
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0]}})", 8, "tensor 'a': 'data_offsets' is not a pair"},
      {R"({"a":{"dtype":"F32","shape":2,"data_offsets":[0,8]}})", 8, "tensor 'a': 'shape' is not a list"},
      {R"({"a":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}})", 8,
       "tensor 'a': 'shape' has an element that is not an integer in 0 .. 2^63-1"},
      {R"({"a":{"dtype":"F32","shape":[2.0],"data_offsets":[0,8]}})", 8,
       "tensor 'a': 'shape' has an element that is not an integer in 0 .. 2^63-1"},
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,18446744073709551615]}})", 8,
       "tensor 'a': 'data_offsets' has an element that is not an integer in 0 .. 2^63-1"},
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}})", 8, "tensor 'a': data_offsets 8..0 run backwards"},
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})", 8,
       "tensor 'a': data_offsets 4..12 reach beyond the file, which holds 8 bytes of data"},
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,9223372036854775807]}})", 8,
       "tensor 'a': data_offsets 0..9223372036854775807 reach beyond the file, which holds 8 bytes of data"},
      {R"({"a":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})", 8,
       "tensor 'a': data_offsets 0..8 span 8 bytes, F32 [3] needs 12"},
      {R"({"a":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,8]}})", 8,
       "tensor 'a': data_offsets 0..8 span 8 bytes, F32 [4294967296, 4294967296] needs too many"},
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})",
       12, "tensor 'b': overlaps tensor 'a'"},
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})",
       8, "tensor 'b': overlaps tensor 'a'"},
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"F32","shape":[2],"data_offsets":[12,20]}})",
       20, "tensor 'b': a gap of 4 bytes lies before it"},
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})", 12, "tensor 'a': a gap of 4 bytes lies before it"},
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", 11, "3 bytes after the last tensor belong to none"},
  };
  for (const auto& bad : cases) {
    EXPECT_EQ(refusal(file_of(bad.header, bad.data_bytes)), std::string("f.safetensors: ") + bad.message) << bad.header;
  }
}

// The reference implementation where Python has it, else the script's own reader.
TEST(Safetensors, OthersReadWhatWeWrite) {
  TempFolder folder;
  LocalStore store{StoreContext{folder.path().string()}};
  CheckpointStore checkpoints(store);
  State state(4);
  save(checkpoints, 4, state, 1);
  const auto command = "python3 " + std::string(DTRAIN_SOURCE) + "/tests/unit/ckpt/read_safetensors.py " +
                       (folder.path() / "step-000000004" / "rank-0.safetensors").string() + " 2>&1";
  if (std::system("python3 -c pass >/dev/null 2>&1") != 0) GTEST_SKIP() << "no python3";
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe(::popen(command.c_str(), "r"), &::pclose);
  std::string found;
  char buffer[4096];
  while (std::fgets(buffer, sizeof buffer, pipe.get()) != nullptr) found += buffer;
  std::string expected;
  for (const auto& [name, t] : state.tensors) {
    expected += name + " " + describe(t.type, t.shape) + " " + sha256_hex(t.bytes) + "\n";
  }
  EXPECT_EQ(found, expected);
}

}  // namespace
}  // namespace dtrain
