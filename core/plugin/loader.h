// SPDX-License-Identifier: Apache-2.0
//
// Loads plugins into this process and makes their components.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <dtrain/plugin.h>

#include "core/plugin/catalog.h"

namespace dtrain {

template <class Interface>
using ComponentPtr = std::unique_ptr<Interface, std::function<void(Interface*)>>;

// Loaded plugins; never unloaded before the process ends. Used by one thread at a time.
class PluginLoader {
 public:
  PluginLoader();
  ~PluginLoader();  // calls the plugins' shutdown functions in reverse order of loading; leaves them mapped

  // Opens the plugin (RTLD_NOW | RTLD_LOCAL) after comparing the ABI tags of all its components with the host's, calls
  // init. A second load of the same file is free. UserError (exit 2) with path and reason: tag mismatch (field by field,
  // found and expected), the dynamic linker's text with names demangled, no entry function, failed init, or a second copy of
  // libtorch mapped. `host_tag(kind)` gives this process's tag of a kind, or an empty string for an unknown kind.
  void load(const PluginInfo& plugin);

  // Makes a component of a loaded plugin. Kind is a traits class (ModelKind ...). An exception that is not one of error.h's
  // becomes a UserError with exit code 1 that names plugin, kind and name.
  template <class Kind>
  ComponentPtr<typename Kind::Interface> create(std::string_view name, const typename Kind::Context& context,
                                                const OptionValues& options) const {
    const dtrain_component& entry = find(Kind::name, name);
    const OptionValuesReader reader(options);
    auto* object = static_cast<typename Kind::Interface*>(guarded_create(entry, &context, &reader));
    return {object, [destroy = entry.destroy](typename Kind::Interface* p) { destroy(p); }};
  }

 private:
  struct Loaded;
  const dtrain_component& find(std::string_view kind, std::string_view name) const;
  void* guarded_create(const dtrain_component& entry, const void* context, const OptionReader* reader) const;

  std::vector<std::unique_ptr<Loaded>> loaded_;
};

// The ABI tag that a component of `kind` must have to be loaded by this process. The runtime, which has libtorch, knows all
// kinds; a torch-free process knows the torch-free kinds and returns an empty string for the others.
std::string host_tag(std::string_view kind);

}  // namespace dtrain
