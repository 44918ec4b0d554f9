// SPDX-License-Identifier: Apache-2.0
#include "core/launch/runtime_library.h"

#include <dlfcn.h>
#include <dtrain/error.h>

#include <cstdlib>
#include <string>

namespace dtrain {

std::filesystem::path runtime_path() {
  const char* chosen = std::getenv("DTRAIN_RUNTIME");
  if (chosen != nullptr && *chosen != '\0') return chosen;
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  return (self.parent_path() / DTRAIN_RUNTIME_FROM_BIN).lexically_normal();
}

void* runtime_entry(const char* name) {
  const auto path = runtime_path();
  void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  void* entry = library != nullptr ? ::dlsym(library, name) : nullptr;
  if (entry == nullptr) {
    const char* reason = ::dlerror();
    throw UserError(
        "cannot load dtrain's runtime " + path.string() + ": " + (reason != nullptr ? reason : "no reason given"),
        "reinstall dtrain, or set DTRAIN_RUNTIME to the runtime of this build");
  }
  return entry;
}

}  // namespace dtrain
