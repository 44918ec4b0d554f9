// SPDX-License-Identifier: Apache-2.0
//
// Opens one plugin through its C entry alone and makes components of it, for contract suites: they test an
// implementation of an interface, not dtrain's loader. Stays mapped until the process ends, as in dtrain.
#pragma once

#include <dlfcn.h>
#include <dtrain/plugin.h>

#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

#include "core/plugin/option.h"

namespace dtrain::test {

template <class Kind>
class PluginComponent {
 public:
  using Interface = typename Kind::Interface;
  struct Destroy {
    void (*function)(void*) = nullptr;
    void operator()(Interface* object) const { function(object); }
  };
  using Pointer = std::unique_ptr<Interface, Destroy>;

  PluginComponent(const std::filesystem::path& file, std::string_view name) {
    void* library = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) throw std::runtime_error(::dlerror());
    const auto entry = reinterpret_cast<const dtrain_plugin* (*)()>(::dlsym(library, "dtrain_plugin_v1"));
    if (entry == nullptr) throw std::runtime_error(file.string() + ": no dtrain_plugin_v1");
    const dtrain_plugin& plugin = *entry();
    for (std::uint32_t i = 0; i < plugin.component_count; ++i) {
      const auto& component = plugin.components[i];
      if (component.kind == Kind::name && component.name == name) component_ = &component;
    }
    if (component_ == nullptr) throw std::runtime_error(file.string() + ": no component " + std::string(name));
  }

  // `options` holds what differs from the defaults.
  Pointer make(const typename Kind::Context& context, const OptionValues& options = {}) const {
    const OptionValuesReader values(options);
    const OptionReader& reader = values;
    return Pointer(static_cast<Interface*>(component_->create(&context, &reader)), Destroy{component_->destroy});
  }

 private:
  const dtrain_component* component_ = nullptr;
};

}  // namespace dtrain::test
