// SPDX-License-Identifier: Apache-2.0
#include "core/plugin/loader.h"

#include <dtrain/optimizer.h>
#include <dtrain/schedule.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>

#include "tests/support/temp_folder.h"
#include "tests/unit/plugin/expect_error.h"

namespace dtrain {
namespace {

namespace fs = std::filesystem;
using test::expect_error;

fs::path fixture(const std::string& name) {
  return fs::path(DTRAIN_FIXTURE_PLUGINS) / name / (name + ".so");
}

PluginInfo note_of(const std::string& name) {
  return read_plugin_note(fixture(name)).value();
}

std::string named(const std::string& name) {
  return "plugin '" + fixture(name).string() + "'";
}

void load(const std::string& name) {
  PluginLoader().load(note_of(name));
}

constexpr const char* kRebuild = "rebuild the plugin against this dtrain";
constexpr const char* kPluginsFault = "this is a fault of the plugin";

TEST(Loader, MakesComponentsWithOptions) {
  PluginLoader loader;
  loader.load(note_of("good"));
  const auto schedule = loader.create<ScheduleKind>("chosen", {.total_updates = 10, .warmup = 0}, {{"factor", 5.0}});
  EXPECT_EQ(schedule->factor(4), 2.0);
  const auto optimizer = loader.create<OptimizerKind>("good", {}, {});
  EXPECT_EQ(optimizer->granularity(), Granularity::element);
}

TEST(Loader, ErrorsOfTheSdkCrossAsTheyAre) {
  PluginLoader loader;
  loader.load(note_of("good"));
  const auto make = [&](const char* outcome) {
    loader.create<ScheduleKind>("chosen", {}, {{"outcome", std::string(outcome)}});
  };
  expect_error([&] { make("user"); }, "a mistake", "a hint");
  try {
    make("recoverable");
    ADD_FAILURE();
  } catch (const RecoverableError& e) {
    EXPECT_EQ(e.kind(), RecoverableError::Kind::timeout);
    EXPECT_EQ(e.peer(), 3);
  }
  EXPECT_THROW(make("invariant"), InvariantError);
}

TEST(Loader, OtherExceptionsBecomeAFaultOfThePlugin) {
  PluginLoader loader;
  loader.load(note_of("good"));
  const auto make = [&](const char* outcome) {
    loader.create<ScheduleKind>("chosen", {}, {{"outcome", std::string(outcome)}});
  };
  const auto start = named("good") + " (good 1.2.3) failed to make schedule 'chosen': ";
  expect_error([&] { make("foreign"); }, start + "a stranger", kPluginsFault, 1);
  expect_error([&] { make("number"); }, start + "an exception that is not derived from std::exception", kPluginsFault,
               1);
}

TEST(Loader, AComponentOfAPluginThatIsNotLoadedIsABug) {
  const PluginLoader loader;
  EXPECT_THROW(loader.create<ScheduleKind>("good", {}, {}), InvariantError);
}

TEST(Loader, TheFileDecidesBetweenEqualNames) {
  const auto folder = fs::path(DTRAIN_FIXTURE_PLUGINS) / "duplicate";
  const auto second = read_plugin_note(folder / "duplicate_second.so").value();
  PluginLoader loader;
  loader.load(read_plugin_note(folder / "duplicate_first.so").value());
  loader.load(second);
  EXPECT_NE(loader.create<ScheduleKind>("duplicate", {}, {}, second.path), nullptr);
  EXPECT_THROW(loader.create<ScheduleKind>("duplicate", {}, {}, "/none.so"), InvariantError);
}

TEST(Loader, InitAndShutdownOnceHoweverOftenLoaded) {
  const TempFolder folder;
  const auto journal = folder.path() / "journal";
  ::setenv("DTRAIN_TEST_LIFECYCLE", journal.c_str(), 1);
  fs::create_symlink(fixture("good"), folder.path() / "alias.so");
  {
    PluginLoader loader;
    loader.load(note_of("good"));
    loader.load(note_of("good"));
    loader.load(read_plugin_note(folder.path() / "alias.so").value());
  }
  ::unsetenv("DTRAIN_TEST_LIFECYCLE");
  std::ifstream in(journal);
  const std::vector<std::string> lines((std::istream_iterator<std::string>(in)), std::istream_iterator<std::string>());
  EXPECT_EQ(lines, (std::vector<std::string>{"init", "shutdown"}));
}

TEST(Loader, TheWatchCoversAllCodeOfAPlugin) {
  std::vector<std::string> seen;
  PluginLoader loader;
  loader.watch([&](std::string_view file) { seen.emplace_back(file); });
  loader.load(note_of("good"));
  EXPECT_EQ(seen, (std::vector<std::string>{fixture("good").string(), ""}));
  seen.clear();
  EXPECT_ANY_THROW(loader.create<ScheduleKind>("chosen", {}, {{"outcome", std::string("foreign")}}));
  EXPECT_EQ(seen, (std::vector<std::string>{fixture("good").string(), ""}));
  seen.clear();
  EXPECT_ANY_THROW(loader.load(note_of("other_interface")));  // refused before any of its code runs
  EXPECT_TRUE(seen.empty());
  loader.watch({});
  loader.create<ScheduleKind>("good", {}, {});
  EXPECT_TRUE(seen.empty());
}

// ---- Faulty plugins: the exact message of each. ----

TEST(BadPlugin, OtherInterface) {
  const auto own = host_tag("schedule");
  const auto hash = own.substr(10, 16);
  expect_error([] { load("other_interface"); },
               named("other_interface") +
                   " was not built for this dtrain:\n  schedule 'other_interface': interface: found 0123456789abcdef, "
                   "expected " +
                   hash,
               kRebuild);
}

TEST(BadPlugin, OtherLibtorch) {
  auto tags = host_tags();
  auto model = read_plugin_note(fixture("other_libtorch")).value().components[0].tag;
  tags["model"] = model.replace(model.find("0.4.1"), 5, "1.13.1");
  expect_error([&] { PluginLoader(tags).load(note_of("other_libtorch")); },
               named("other_libtorch") +
                   " was not built for this dtrain:\n  model 'other_libtorch': libtorch: found 0.4.1, expected 1.13.1",
               kRebuild);
}

TEST(BadPlugin, UnknownKind) {
  expect_error([] { load("unknown_kind"); },
               named("unknown_kind") +
                   " was not built for this dtrain:\n  telepathy 'unknown_kind': this dtrain has no kind 'telepathy'",
               kRebuild);
}

TEST(BadPlugin, UndefinedSymbol) {
  expect_error([] { load("undefined_symbol"); },
               "cannot load " + named("undefined_symbol") +
                   ": undefined symbol: missing::curve(std::vector<int, std::allocator<int> > const&, double)",
               "install the library that has it, or link the plugin with it");
}

TEST(BadPlugin, GoneBetweenReadingAndLoading) {
  const TempFolder folder;
  fs::copy_file(fixture("good"), folder.path() / "a.so");
  const auto info = read_plugin_note(folder.path() / "a.so").value();
  fs::remove(info.path);
  expect_error(
      [&] { PluginLoader().load(info); },
      "cannot load plugin '" + info.path.string() + "': cannot open shared object file: No such file or directory",
      "install the library that has it, or link the plugin with it");
}

TEST(BadPlugin, TextFile) {
  expect_error([] { note_of("text_file"); },
               "'" + fixture("text_file").string() + "' is not a dtrain plugin: it is not an ELF file",
               "a plugin is a shared object (.so) built with dtrain_add_plugin()");
}

TEST(BadPlugin, NoEntry) {
  expect_error([] { load("no_entry"); }, named("no_entry") + " has no entry function dtrain_plugin_v1",
               "declare the plugin with DTRAIN_PLUGIN and keep the function visible");
}

TEST(BadPlugin, EntryThatReturnsNothing) {
  expect_error([] { load("null_entry"); }, named("null_entry") + ": its entry function returned nothing", kRebuild);
}

TEST(BadPlugin, EntryOfAnotherSize) {
  expect_error([] { load("old_entry"); }, named("old_entry") + ": the entry struct has 8 bytes, expected at least 56",
               kRebuild);
}

TEST(BadPlugin, EntryAndNoteDisagree) {
  expect_error(
      [] { load("disagreeing_entry"); },
      named("disagreeing_entry") +
          ": its entry function and its note disagree: found component 'schedule' 'something_else', the note says "
          "'schedule' 'disagreeing_entry'",
      kRebuild);
}

TEST(BadPlugin, ThrowingInit) {
  expect_error([] { load("throwing_init"); },
               named("throwing_init") + ": its init function failed: the licence server does not answer",
               "mend what the plugin complains about, or take it out of the recipe");
}

TEST(BadPlugin, DamagedNote) {
  expect_error([] { note_of("damaged_note"); },
               named("damaged_note") + " has a damaged note: at byte 8: needs 100 bytes, 4 are left",
               "rebuild the plugin");
}

TEST(BadPlugin, NewerNote) {
  expect_error([] { note_of("newer_note"); },
               named("newer_note") + " has a note of format 2, this dtrain reads formats up to 1",
               "use a newer dtrain, or rebuild the plugin against this one");
}

TEST(BadPlugin, DuplicateName) {
  const auto folder = fs::path(DTRAIN_FIXTURE_PLUGINS) / "duplicate";
  expect_error([&] { PluginCatalog({.files = {}, .folders = {folder}, .required_folders = {}}); },
               "two plugins offer schedule 'duplicate': '" + (folder / "duplicate_first.so").string() + "' and '" +
                   (folder / "duplicate_second.so").string() + "'",
               "remove one of them, or rename its component");
}

// In a process of their own: what they leave behind stays mapped.

[[noreturn]] void load_and_report(const std::string& name) {
  try {
    PluginLoader loader;
    loader.watch([](std::string_view file) { std::cerr << "[" << file << "]" << std::flush; });
    loader.load(note_of(name));
    std::cerr << "loaded";
  } catch (const UserError& e) {
    std::cerr << e.message() << " | " << e.hint();
    std::_Exit(e.exit_code());
  }
  std::_Exit(0);
}

TEST(BadPluginDeathTest, SecondLibtorch) {
  const auto folder = fixture("second_libtorch").parent_path().string();
  EXPECT_EXIT(load_and_report("second_libtorch"), ::testing::ExitedWithCode(2),
              ::testing::AllOf(::testing::HasSubstr(named("second_libtorch") +
                                                    " brought a second copy of libtorch into the process:\n  "),
                               ::testing::HasSubstr("\n  " + folder + "/one/libtorch_cpu.so"),
                               ::testing::HasSubstr("\n  " + folder + "/two/libtorch_cpu.so"),
                               ::testing::HasSubstr(" | build the plugin against the libtorch that dtrain uses")));
}

TEST(BadPluginDeathTest, ThrowingStaticObject) {
  EXPECT_EXIT(load_and_report("throwing_static"), ::testing::KilledBySignal(SIGABRT),
              ::testing::AllOf(::testing::StartsWith("[" + fixture("throwing_static").string() + "]"),
                               ::testing::HasSubstr("the table is empty")));
}

TEST(BadPluginDeathTest, CrashOnLoadLeavesItsNameWithTheWatch) {
  EXPECT_EXIT(load_and_report("crash_on_load"), ::testing::KilledBySignal(SIGSEGV),
              ::testing::EndsWith("[" + fixture("crash_on_load").string() + "]"));
}

TEST(BadPluginDeathTest, CrashInInitLeavesItsNameWithTheWatch) {
  EXPECT_EXIT(load_and_report("crash_in_init"), ::testing::KilledBySignal(SIGABRT),
              ::testing::EndsWith("[" + fixture("crash_in_init").string() + "]"));
}

}  // namespace
}  // namespace dtrain
