// SPDX-License-Identifier: Apache-2.0
//
// dtrain plugin list|info|test|new. None of them needs libtorch.
#include <dtrain/error.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "cli/plugin/describe.h"
#include "cli/plugin/skeleton.h"
#include "cli/verbs.h"
#include "core/plugin/catalog.h"
#include "core/plugin/host_tags.h"
#include "core/plugin/probe.h"

namespace dtrain::cli {
namespace {

namespace fs = std::filesystem;

struct Arguments {
  std::vector<std::string> files;  // --plugin
  bool json = false;
  std::string target;  // KIND/NAME or FILE
  std::string kind, name, folder;
};

PluginCatalog catalog_with(const std::vector<std::string>& files) {
  auto places = PluginCatalog::default_places();
  places.files.assign(files.begin(), files.end());
  return PluginCatalog(std::move(places));
}

std::string joined(const std::vector<std::string>& names) {
  std::string out;
  for (const auto& name : names) out += (out.empty() ? "" : ", ") + name;
  return out.empty() ? "none" : out;
}

PluginInfo plugin_in(const fs::path& file) {
  auto plugin = read_plugin_note(file);
  if (plugin) return std::move(*plugin);
  throw UserError("'" + file.string() + "' is not a dtrain plugin: the shared object has no dtrain note",
                  "declare it with DTRAIN_PLUGIN and build it with dtrain_add_plugin()");
}

int list(const Arguments& arguments) {
  const auto catalog = catalog_with(arguments.files);
  std::cout << (arguments.json ? list_json(catalog, host_tags()) : list_text(catalog, host_tags()));
  return 0;
}

[[noreturn]] void not_offered(const PluginCatalog& catalog, const std::string& kind, const std::string& name) {
  const auto tags = host_tags();
  std::vector<std::string> names;
  for (const auto& entry : catalog.of_kind(kind)) names.push_back(entry.component->name);
  if (!names.empty() || tags.contains(kind)) {
    throw UserError("no plugin offers " + kind + " '" + name + "'; found: " + joined(names),
                    "dtrain plugin list shows all of them and where they are");
  }
  for (const auto& [known, tag] : tags) names.push_back(known);
  throw UserError("there is no kind '" + kind + "'; found: " + joined(names), "write KIND/NAME, for example model/gpt");
}

int info(const Arguments& arguments) {
  const auto print = [&](const PluginInfo& plugin, const ComponentInfo* component) {
    std::cout << (arguments.json ? info_json(plugin, component, host_tags())
                                 : info_text(plugin, component, host_tags()));
    return 0;
  };
  const auto slash = arguments.target.find('/');
  const bool is_file = slash == std::string::npos || arguments.target.ends_with(".so") || fs::exists(arguments.target);
  if (is_file) return print(plugin_in(arguments.target), nullptr);
  const auto catalog = catalog_with(arguments.files);
  const auto kind = arguments.target.substr(0, slash), name = arguments.target.substr(slash + 1);
  const auto entry = catalog.find(kind, name);
  if (!entry) not_offered(catalog, kind, name);
  return print(*entry->plugin, entry->component);
}

int test(const Arguments& arguments) {
  const auto plugin = plugin_in(arguments.target);
  const auto steps = probe_plugin(plugin);
  std::cout << (arguments.json ? probe_json(plugin, steps) : probe_text(plugin, steps));
  return all_passed(steps) ? 0 : 2;
}

int make_new(const Arguments& arguments) {
  for (const auto& file : write_skeleton(arguments.kind, arguments.name, arguments.folder)) {
    std::cout << "wrote " << file.string() << '\n';
  }
  std::cout << "build it with: cmake -S " << arguments.folder << " -B " << arguments.folder
            << "/build && cmake --build " << arguments.folder << "/build\n";
  return 0;
}

}  // namespace

void add_plugin_verb(CLI::App& app, Action& action) {
  const auto arguments = std::make_shared<Arguments>();
  auto* verb = app.add_subcommand("plugin", "what plugins there are, what they offer; try one, begin one");
  verb->require_subcommand(1);
  const auto add = [&](const char* name, const char* help, int (*run)(const Arguments&)) {
    auto* sub = verb->add_subcommand(name, help);
    sub->callback([&action, arguments, run] { action = [arguments, run] { return run(*arguments); }; });
    return sub;
  };
  const auto with_json = [&](CLI::App* sub) { sub->add_flag("--json", arguments->json, "one JSON object on stdout"); };
  const auto with_files = [&](CLI::App* sub) {
    sub->add_option("--plugin", arguments->files, "a plugin to look at first")
        ->type_name("FILE")
        ->allow_extra_args(false);
  };

  auto* list_verb = add("list", "every component that a recipe can name", list);
  with_files(list_verb);
  with_json(list_verb);

  auto* info_verb = add("info", "options of a component, or of all in a file", info);
  info_verb->add_option("TARGET", arguments->target, "KIND/NAME, or the file of a plugin")->required();
  with_files(info_verb);
  with_json(info_verb);

  auto* test_verb = add("test", "loads a plugin in a process of its own and checks what needs no training", test);
  test_verb->add_option("FILE", arguments->target, "the plugin")->required();
  with_json(test_verb);

  std::string kinds;
  for (const auto kind : skeleton_kinds()) kinds += (kinds.empty() ? "" : ", ") + std::string(kind);
  auto* new_verb = add("new", "writes a plugin to start from", make_new);
  new_verb->add_option("KIND", arguments->kind, kinds)->required();
  new_verb->add_option("NAME", arguments->name, "of the component and its plugin, for example my-model")->required();
  new_verb->add_option("DIR", arguments->folder, "folder to make")->required();
}

}  // namespace dtrain::cli
