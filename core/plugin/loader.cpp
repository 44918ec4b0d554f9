// SPDX-License-Identifier: Apache-2.0
#include "core/plugin/loader.h"

#include <dlfcn.h>
#include <dtrain/error.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <utility>

#include "core/base/version.h"
#include "core/plugin/demangle.h"
#include "core/plugin/entry_check.h"
#include "core/plugin/mapped_copies.h"

namespace dtrain {
namespace {

constexpr const char* kRebuild = "rebuild the plugin against this dtrain";

std::string title(const PluginInfo& plugin) {
  return "plugin '" + plugin.path.string() + "'";
}

// One write(2) a line, so that lines of several threads do not mix.
void log_line(int level, const char* message) {
  constexpr std::array<const char*, 4> names = {"debug", "info", "warning", "error"};
  const auto* name = level >= 0 && level < 4 ? names[static_cast<std::size_t>(level)] : "info";
  const auto line = std::string("dtrain: plugin: ") + name + ": " + message + "\n";
  if (::write(STDERR_FILENO, line.data(), line.size()) < 0) return;  // nobody listens
}

constexpr dtrain_host kHost = {sizeof(dtrain_host), kVersion, &log_line};

void check_tags(const PluginInfo& plugin, const HostTags& tags) {
  const auto differences = tag_differences(plugin, tags);
  if (differences.empty()) return;
  std::string message = title(plugin) + " was not built for this dtrain:";
  for (const auto& difference : differences) message += "\n  " + difference.text();
  throw UserError(message, kRebuild);
}

// The linker starts its text with the path, which our message has already.
std::string linker_text(const PluginInfo& plugin) {
  const char* error = ::dlerror();
  std::string text = error != nullptr ? error : "no reason given";
  const auto prefix = plugin.path.string() + ": ";
  if (text.starts_with(prefix)) text.erase(0, prefix.size());
  return demangled(text);
}

// An exception of a static object ends the process here: the dynamic linker cannot be unwound. The watch has the name.
void* open_library(const PluginInfo& plugin) {
  void* library = ::dlopen(plugin.path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library != nullptr) return library;
  throw UserError("cannot load " + title(plugin) + ": " + linker_text(plugin),
                  "install the library that has it, or link the plugin with it");
}

const dtrain_plugin* entry_of(const PluginInfo& plugin, void* library) {
  const auto entry = reinterpret_cast<const dtrain_plugin* (*)()>(::dlsym(library, "dtrain_plugin_v1"));
  if (entry == nullptr) {
    throw UserError(title(plugin) + " has no entry function dtrain_plugin_v1",
                    "declare the plugin with DTRAIN_PLUGIN and keep the function visible");
  }
  const dtrain_plugin* description = entry();
  if (const auto problem = entry_problem(description, plugin))
    throw UserError(title(plugin) + ": " + *problem, kRebuild);
  return description;
}

// Two copies have two registries of operators, two default types and two allocators: tensors of one crash in the other.
void check_one_torch(const PluginInfo& plugin) {
  const auto copies = mapped_copies("libtorch_cpu");
  if (copies.size() < 2) return;
  std::string message = title(plugin) + " brought a second copy of libtorch into the process:";
  for (const auto& copy : copies) message += "\n  " + copy;
  throw UserError(message, "build the plugin against the libtorch that dtrain uses");
}

void initialise(const PluginInfo& plugin, const dtrain_plugin& entry) {
  std::string reason;
  try {
    const char* error = entry.init(&kHost);
    if (error == nullptr) return;
    reason = error;
  } catch (const std::exception& e) {
    reason = e.what();
  } catch (...) {
    reason = "an exception that is not derived from std::exception";
  }
  throw UserError(title(plugin) + ": its init function failed: " + reason,
                  "mend what the plugin complains about, or take it out of the recipe");
}

}  // namespace

struct PluginLoader::Loaded {
  PluginInfo info;
  dev_t device = 0;
  ino_t inode = 0;
  const dtrain_plugin* entry = nullptr;
};

// Covers the time in which a plugin's code runs.
class PluginLoader::Watched {
 public:
  Watched(const Watch& watch, const PluginInfo& plugin) : watch_(watch) {
    if (watch_) watch_(plugin.path.native());
  }
  ~Watched() {
    if (watch_) watch_({});
  }

 private:
  const Watch& watch_;
};

PluginLoader::PluginLoader(HostTags tags) : tags_(std::move(tags)) {}

PluginLoader::~PluginLoader() {
  shut_down();
}

void PluginLoader::shut_down() noexcept {
  while (!loaded_.empty()) {
    loaded_.back()->entry->shutdown();
    loaded_.pop_back();
  }
}

void PluginLoader::load(const PluginInfo& plugin) {
  struct stat status {};
  if (::stat(plugin.path.c_str(), &status) == 0) {
    for (const auto& other : loaded_) {
      if (other->device == status.st_dev && other->inode == status.st_ino) return;
    }
  }
  check_tags(plugin, tags_);
  const Watched watched(watch_, plugin);
  void* library = open_library(plugin);
  check_one_torch(plugin);
  const dtrain_plugin* entry = entry_of(plugin, library);
  initialise(plugin, *entry);
  loaded_.push_back(std::make_unique<Loaded>(Loaded{plugin, status.st_dev, status.st_ino, entry}));
}

PluginLoader::Offer PluginLoader::find(std::string_view kind, std::string_view name,
                                       const std::filesystem::path& file) const {
  Offer offer;
  for (const auto& plugin : loaded_) {
    if (offer.plugin != nullptr || (!file.empty() && plugin->info.path != file)) continue;
    for (std::uint32_t i = 0; i < plugin->entry->component_count; ++i) {
      const auto& component = component_at(*plugin->entry, i);
      if (component.kind == kind && component.name == name) offer = {plugin.get(), &component};
    }
  }
  DTRAIN_CHECK(offer.plugin != nullptr, "no loaded plugin offers " + std::string(kind) + " '" + std::string(name) +
                                            "'" + (file.empty() ? "" : " in " + file.string()));
  return offer;
}

void* PluginLoader::guarded_create(const Offer& offer, const void* context, const OptionReader* reader) const {
  const auto& plugin = offer.plugin->info;
  const Watched watched(watch_, plugin);
  std::string reason;
  try {
    void* object = offer.component->create(context, reader);
    if (object != nullptr) return object;
    reason = "it returned nothing";
  } catch (const UserError&) {
    throw;
  } catch (const RecoverableError&) {
    throw;
  } catch (const InvariantError&) {
    throw;
  } catch (const std::exception& e) {
    reason = e.what();
  } catch (...) {
    reason = "an exception that is not derived from std::exception";
  }
  throw UserError(title(plugin) + " (" + plugin.name + " " + plugin.version + ") failed to make " +
                      offer.component->kind + " '" + offer.component->name + "': " + reason,
                  "this is a fault of the plugin", {}, 1);
}

}  // namespace dtrain
