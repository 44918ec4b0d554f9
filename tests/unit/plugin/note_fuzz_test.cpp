// SPDX-License-Identifier: Apache-2.0
//
// Deterministic mutations of valid plugins: reading gives a result or a UserError, whatever the bytes are. The
// sanitizers say more than a crash does: build this target with the preset asan.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <random>

#include "core/plugin/note.h"
#include "tests/support/temp_folder.h"
#include "tests/unit/plugin/elf_builder.h"

namespace dtrain {
namespace {

std::string contents(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

// Values that parsers stumble over, beside random ones.
std::uint64_t number(std::mt19937_64& random) {
  constexpr std::uint64_t edges[] = {0,
                                     1,
                                     2,
                                     3,
                                     7,
                                     8,
                                     0x7f,
                                     0xff,
                                     0x7fff'ffff,
                                     0x8000'0000,
                                     0xffff'fffe,
                                     0xffff'ffff,
                                     0x7fff'ffff'ffff'ffff,
                                     0xffff'ffff'ffff'fff8,
                                     0xffff'ffff'ffff'ffff};
  return random() % 2 == 0 ? edges[random() % std::size(edges)] : random();
}

// One to four changes within the first `reach` bytes.
std::string mutated(std::string bytes, std::size_t reach, std::mt19937_64& random) {
  for (auto changes = 1 + random() % 4; changes > 0 && !bytes.empty(); --changes) {
    const auto limit = std::min(reach, bytes.size());
    const auto at = random() % limit;
    switch (random() % 6) {
      case 0:
        bytes[at] = static_cast<char>(bytes[at] ^ (1 << random() % 8));
        break;
      case 1:
        bytes[at] = static_cast<char>(number(random));
        break;
      case 2:
      case 3: {  // a whole aligned field: lengths, counts, offsets
        const auto field = at / 4 * 4;
        const auto width = std::min<std::size_t>(random() % 2 == 0 ? 4 : 8, bytes.size() - field);
        const auto value = number(random);
        std::memcpy(bytes.data() + field, &value, width);
        break;
      }
      case 4:
        bytes.erase(at, 1 + random() % 16);
        break;
      default:
        bytes.insert(at, 1 + random() % 16, static_cast<char>(random()));
    }
  }
  if (random() % 8 == 0) bytes.resize(random() % (bytes.size() + 1));
  return bytes;
}

struct Tally {
  int accepted = 0, refused = 0;
};

template <class Read>
Tally fuzz(const std::string& seed, std::size_t reach, int rounds, Read read) {
  std::mt19937_64 random(20260131);
  Tally tally;
  for (int i = 0; i < rounds; ++i) {
    const auto bytes = mutated(seed, reach, random);
    try {
      read(bytes);
      ++tally.accepted;
    } catch (const UserError& e) {
      EXPECT_FALSE(e.message().empty());
      EXPECT_EQ(e.exit_code(), 2);
      ++tally.refused;
    }
  }
  return tally;
}

TEST(NoteFuzz, Descriptions) {
  // From a real plugin, so that it has options of several types.
  const auto file = std::filesystem::path(DTRAIN_FIXTURE_PLUGINS) / "bad_default/bad_default.so";
  const auto elf = contents(file);
  const auto owner = elf.find(std::string("dtrain\0\0", 8));
  ASSERT_NE(owner, std::string::npos);
  std::uint32_t size = 0;
  std::memcpy(&size, elf.data() + owner - 8, sizeof size);
  const auto note = elf.substr(owner + 8, size);
  const auto read = [](const std::string& bytes) { decode_note(std::as_bytes(std::span(bytes)), "/fuzz.so"); };
  ASSERT_NO_THROW(read(note));
  const auto tally = fuzz(note, note.size(), 50'000, read);
  EXPECT_GT(tally.accepted, 0);  // a changed letter of a description
  EXPECT_GT(tally.refused, 10'000);
}

TEST(NoteFuzz, WholeFiles) {
  const TempFolder folder;
  const auto path = folder.path() / "a.so";
  const auto read = [&](const std::string& bytes) { read_plugin_note(test::write_file(path, bytes)); };
  const std::vector<test::FakeComponent> components(2);
  const auto small = test::elf_file(test::elf_note("GNU", 3, "0123456789") +
                                    test::dtrain_note(test::note_of("tiny", {components.data(), 1})));
  ASSERT_NO_THROW(read(small));
  const auto tally = fuzz(small, small.size(), 6'000, read);
  EXPECT_GT(tally.refused, 1'000);
  const auto real = contents(std::filesystem::path(DTRAIN_FIXTURE_PLUGINS) / "bad_default/bad_default.so");
  fuzz(real, 1024, 3'000, read);  // headers and notes come first
}

}  // namespace
}  // namespace dtrain
