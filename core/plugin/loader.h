// SPDX-License-Identifier: Apache-2.0
//
// Loads plugins into this process and makes their components.
#pragma once

#include <dtrain/plugin.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/plugin/catalog.h"
#include "core/plugin/host_tags.h"

namespace dtrain {

template <class Interface>
using ComponentPtr = std::unique_ptr<Interface, std::function<void(Interface*)>>;

// Loaded plugins; never unloaded before the process ends. Used by one thread at a time.
class PluginLoader {
 public:
  explicit PluginLoader(HostTags tags = host_tags());
  ~PluginLoader();  // shut_down()
  PluginLoader(const PluginLoader&) = delete;
  PluginLoader& operator=(const PluginLoader&) = delete;

  // Calls the plugins' shutdown functions in reverse order of loading and forgets them; leaves them mapped. Nothing
  // that they made may be alive.
  void shut_down() noexcept;

  // Told the file before any code of a plugin runs in load() or create(), and an empty text afterwards, so that whoever
  // watches this process can name the plugin that killed it. An empty function ends it.
  using Watch = std::function<void(std::string_view plugin_file)>;
  void watch(Watch watch) { watch_ = std::move(watch); }

  // Opens the plugin (RTLD_NOW | RTLD_LOCAL) after comparing the ABI tags of all its components with the host's, calls
  // init. A second load of the same file is free. UserError (exit 2) with path and reason: tag mismatch (field by
  // field, found and expected), the dynamic linker's text with names demangled, no entry function or one that disagrees
  // with the note, failed init, or a second copy of libtorch mapped.
  void load(const PluginInfo& plugin);

  // Makes a component of a loaded plugin. Kind is a traits class (ModelKind ...). `file`, where given, is the plugin's
  // path and decides when two loaded plugins offer the name; else the one that was loaded first does. An exception that
  // is not one of error.h's becomes a UserError with exit code 1 that names plugin, kind and name.
  template <class Kind>
  ComponentPtr<typename Kind::Interface> create(std::string_view name, const typename Kind::Context& context,
                                                const OptionValues& options,
                                                const std::filesystem::path& file = {}) const {
    const Offer offer = find(Kind::name, name, file);
    const OptionValuesReader values(options);
    const OptionReader& reader = values;
    auto* object = static_cast<typename Kind::Interface*>(guarded_create(offer, &context, &reader));
    return {object, [destroy = offer.component->destroy](typename Kind::Interface* p) { destroy(p); }};
  }

 private:
  struct Loaded;
  struct Offer {
    const Loaded* plugin = nullptr;
    const dtrain_component* component = nullptr;
  };
  class Watched;

  Offer find(std::string_view kind, std::string_view name, const std::filesystem::path& file) const;
  void* guarded_create(const Offer& offer, const void* context, const OptionReader* reader) const;

  HostTags tags_;
  Watch watch_;
  std::vector<std::unique_ptr<Loaded>> loaded_;
};

}  // namespace dtrain
