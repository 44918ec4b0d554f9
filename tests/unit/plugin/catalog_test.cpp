// SPDX-License-Identifier: Apache-2.0
#include "core/plugin/catalog.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>

#include "tests/support/temp_folder.h"
#include "tests/unit/plugin/elf_builder.h"
#include "tests/unit/plugin/expect_error.h"

namespace dtrain {
namespace {

namespace fs = std::filesystem;
using test::expect_error;
using test::plugin_file;
using test::write_file;

class Catalog : public ::testing::Test {
 protected:
  fs::path put(const fs::path& name, std::string_view bytes) { return write_file(folder_.path() / name, bytes); }
  fs::path at(const fs::path& name) const { return folder_.path() / name; }

  const std::string not_ours_ = "a plugin is a shared object (.so) built with dtrain_add_plugin()";
  TempFolder folder_;
};

TEST_F(Catalog, ReadsNameVersionAndBuildId) {
  const std::vector<test::FakeComponent> components(1);
  const auto file = put("a.so", test::elf_file(test::elf_note("GNU", 3, "\x01\xab\x10") +
                                               test::dtrain_note(test::note_of("tiny", components))));
  const auto plugin = read_plugin_note(file);
  ASSERT_TRUE(plugin);
  EXPECT_EQ(plugin->path, file);
  EXPECT_EQ(plugin->name, "tiny");
  EXPECT_EQ(plugin->build_id, "01ab10");
}

TEST_F(Catalog, ASharedObjectWithoutOurNoteIsNoPlugin) {
  EXPECT_FALSE(read_plugin_note(put("a.so", test::elf_file(test::elf_note("GNU", 3, "abcd")))));
  auto header = test::elf_header();
  header.e_phnum = 0;
  EXPECT_FALSE(read_plugin_note(put("b.so", test::elf_file(header, {}, ""))));
}

TEST_F(Catalog, MissingFile) {
  expect_error([&] { read_plugin_note(at("none.so")); },
               "cannot open plugin '" + at("none.so").string() + "': No such file or directory",
               "check the path and its permissions");
}

TEST_F(Catalog, TextFile) {
  const auto file = put("a.so", "INPUT(libm.so)\n");
  expect_error([&] { read_plugin_note(file); }, "'" + file.string() + "' is not a dtrain plugin: it is not an ELF file",
               not_ours_);
}

TEST_F(Catalog, EmptyFileFolderAndPipe) {
  const auto empty = put("a.so", "");
  expect_error([&] { read_plugin_note(empty); },
               "'" + empty.string() + "' is not a dtrain plugin: it is not an ELF file", not_ours_);
  fs::create_directory(at("b.so"));
  expect_error([&] { read_plugin_note(at("b.so")); },
               "'" + at("b.so").string() + "' is not a dtrain plugin: it is a folder", not_ours_);
  ASSERT_EQ(::mkfifo(at("c.so").c_str(), 0600), 0);
  expect_error([&] { read_plugin_note(at("c.so")); },
               "'" + at("c.so").string() + "' is not a dtrain plugin: it is not a regular file", not_ours_);
}

TEST_F(Catalog, AnotherMachineClassByteOrderOrType) {
  const auto expect = [&](auto change, const std::string& why) {
    auto header = test::elf_header();
    change(header);
    const auto file = put("a.so", test::elf_file(header, test::note_segment(0), ""));
    expect_error([&] { read_plugin_note(file); }, "'" + file.string() + "' is not a dtrain plugin: " + why, not_ours_);
  };
  expect([](Elf64_Ehdr& h) { h.e_ident[EI_CLASS] = ELFCLASS32; }, "it is not a 64-bit ELF file");
  expect([](Elf64_Ehdr& h) { h.e_ident[EI_DATA] = ELFDATA2MSB; }, "it is not a little-endian ELF file");
  expect([](Elf64_Ehdr& h) { h.e_type = ET_REL; }, "it is an ELF file but no shared object");
#if defined(__x86_64__)
  expect([](Elf64_Ehdr& h) { h.e_machine = EM_AARCH64; },
         "it is made for another machine: found AArch64, expected x86-64");
#endif
}

TEST_F(Catalog, HeadersThatPointOutsideTheFile) {
  auto header = test::elf_header();
  header.e_phoff = ~0ull;
  auto file = put("a.so", test::elf_file(header, test::note_segment(0), ""));
  expect_error(
      [&] { read_plugin_note(file); },
      "plugin '" + file.string() +
          "' is damaged: the program header table is bytes 18446744073709551615 to 18446744073709551615 + 56, the "
          "file has 120",
      "build or copy the plugin again");
  file = put("b.so", test::elf_file(test::elf_header(), test::note_segment(64), ""));
  expect_error([&] { read_plugin_note(file); },
               "plugin '" + file.string() + "' is damaged: a note segment is bytes 120 to 120 + 64, the file has 120",
               "build or copy the plugin again");
  file = put("c.so", std::string(test::elf_file("")).substr(0, 30));
  expect_error([&] { read_plugin_note(file); },
               "plugin '" + file.string() + "' is damaged: it ends within the ELF header",
               "build or copy the plugin again");
}

TEST_F(Catalog, TwoNotes) {
  const std::vector<test::FakeComponent> components(1);
  const auto note = test::dtrain_note(test::note_of("tiny", components));
  const auto file = put("a.so", test::elf_file(note + note));
  expect_error([&] { read_plugin_note(file); }, "plugin '" + file.string() + "' has two dtrain notes",
               "use DTRAIN_PLUGIN once in a shared object");
}

TEST_F(Catalog, NamedFilesBeforeFoldersAndTheFirstFolderWins) {
  put("one/a.so", plugin_file("from-one", {.name = "flat"}));
  put("one/b.so", plugin_file("only-one", {.name = "steep"}));
  put("two/a.so", plugin_file("from-two", {.name = "flat"}));
  put("two/sub/c.so", plugin_file("too-deep", {.name = "deep"}));
  put("two/readme.txt", "not a plugin");
  const auto named = put("named.so", plugin_file("named", {.name = "flat"}));

  const PluginCatalog folders({.files = {}, .folders = {at("one"), at("two")}, .required_folders = {}});
  ASSERT_TRUE(folders.find("schedule", "flat"));
  EXPECT_EQ(folders.find("schedule", "flat")->plugin->name, "from-one");
  EXPECT_FALSE(folders.find("schedule", "deep"));
  EXPECT_FALSE(folders.find("optimizer", "flat"));
  EXPECT_EQ(folders.plugins().size(), 3u);

  const PluginCatalog with_file({.files = {named}, .folders = {at("one"), at("two")}, .required_folders = {}});
  EXPECT_EQ(with_file.find("schedule", "flat")->plugin->name, "named");
  const auto all = with_file.of_kind("schedule");
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].component->name, "flat");
  EXPECT_EQ(all[0].plugin->name, "named");
  EXPECT_EQ(all[1].component->name, "steep");
}

TEST_F(Catalog, TheSameComponentTwiceInOneFolder) {
  const auto a = put("one/a.so", plugin_file("first", {}));
  const auto b = put("one/b.so", plugin_file("second", {}));
  const std::string message = "two plugins offer schedule 'flat': '" + a.string() + "' and '" + b.string() + "'";
  const std::string hint = "remove one of them, or rename its component";
  expect_error([&] { PluginCatalog({.files = {}, .folders = {at("one")}, .required_folders = {}}); }, message, hint);
  expect_error([&] { PluginCatalog({.files = {a, b}, .folders = {}, .required_folders = {}}); }, message, hint);
}

TEST_F(Catalog, TheSameFileTwiceIsNoDuplicate) {
  const auto a = put("one/a.so", plugin_file("first", {}));
  fs::create_symlink("a.so", at("one/link.so"));
  fs::create_directory_symlink("one", at("two"));
  const PluginCatalog catalog({.files = {a, a}, .folders = {at("one"), at("two"), at("one")}, .required_folders = {}});
  EXPECT_EQ(catalog.plugins().size(), 1u);
}

TEST_F(Catalog, BrokenFilesStopOnlyThoseWhoNamedThem) {
  const auto broken = put("one/a.so", "text");
  put("one/b.so", plugin_file("good", {}));
  const PluginCatalog catalog({.files = {}, .folders = {at("one"), at("none")}, .required_folders = {}});
  EXPECT_TRUE(catalog.find("schedule", "flat"));
  ASSERT_EQ(catalog.problems().size(), 1u);
  EXPECT_EQ(catalog.problems()[0].path, broken);
  EXPECT_EQ(catalog.problems()[0].message, "'" + broken.string() + "' is not a dtrain plugin: it is not an ELF file");
  const std::string message = "'" + broken.string() + "' is not a dtrain plugin: it is not an ELF file";
  expect_error([&] { PluginCatalog({.files = {}, .folders = {at("one")}, .required_folders = {at("one")}}); }, message,
               not_ours_);
  expect_error([&] { PluginCatalog({.files = {broken}, .folders = {}, .required_folders = {}}); }, message, not_ours_);
}

TEST_F(Catalog, ARequiredFolderMustExist) {
  expect_error([&] { PluginCatalog({.files = {}, .folders = {at("none")}, .required_folders = {at("none")}}); },
               "cannot read the plugin folder '" + at("none").string() + "': No such file or directory",
               "check the path and its permissions");
}

TEST_F(Catalog, ANamedFileMustCarryANote) {
  const auto file = put("a.so", test::elf_file(""));
  expect_error([&] { PluginCatalog({.files = {file}, .folders = {}, .required_folders = {}}); },
               "'" + file.string() + "' is not a dtrain plugin: the shared object has no dtrain note",
               "declare it with DTRAIN_PLUGIN and build it with dtrain_add_plugin()");
}

TEST_F(Catalog, RelativeNamesBecomeAbsolute) {
  const auto file = put("a.so", plugin_file("tiny", {}));
  const auto relative = fs::relative(file);
  ASSERT_TRUE(relative.is_relative());
  EXPECT_EQ(read_plugin_note(relative)->path, file);
}

TEST_F(Catalog, PathsWithBlanksAndOtherLetters) {
  const auto file = put("a b-ä試/p q.so", plugin_file("tiny", {}));
  const PluginCatalog catalog({.files = {}, .folders = {at("a b-ä試")}, .required_folders = {}});
  ASSERT_EQ(catalog.plugins().size(), 1u);
  EXPECT_EQ(catalog.plugins()[0].path, file);
}

class Environment {
 public:
  Environment(const char* name, const char* value) : name_(name) {
    if (const char* old = std::getenv(name)) old_ = old;
    ::setenv(name, value, 1);
  }
  ~Environment() { old_ ? ::setenv(name_, old_->c_str(), 1) : ::unsetenv(name_); }

 private:
  const char* name_;
  std::optional<std::string> old_;
};

TEST(DefaultPlaces, EnvironmentThenHomeThenInstallation) {
  const Environment list("DTRAIN_PLUGIN_PATH", "/a::/b c:");
  const Environment home("HOME", "/home/u");
  const auto places = PluginCatalog::default_places();
  EXPECT_TRUE(places.files.empty());
  ASSERT_EQ(places.folders.size(), 4u);
  EXPECT_EQ(places.folders[0], "/a");
  EXPECT_EQ(places.folders[1], "/b c");
  EXPECT_EQ(places.folders[2], "/home/u/.local/lib/dtrain/plugins");
  EXPECT_EQ(places.folders[3], fs::path(DTRAIN_PLUGINS));  // the build tree has the layout of the installation
  EXPECT_EQ(places.required_folders, (std::vector<fs::path>{"/a", "/b c"}));
}

}  // namespace
}  // namespace dtrain
