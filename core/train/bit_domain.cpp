// SPDX-License-Identifier: Apache-2.0
#include "core/train/bit_domain.h"

#include <dlfcn.h>
#include <link.h>
#include <string_view>

#include <ATen/ATen.h>
#include <ATen/Version.h>

#include <dtrain/torch_compat.h>

#include "core/base/version.h"

namespace dtrain {
namespace {

// Path of the first loaded library whose file name begins with one of the usual BLAS names.
int find_blas(dl_phdr_info* info, std::size_t, void* out) {
  const std::string_view path = info->dlpi_name == nullptr ? "" : info->dlpi_name;
  const auto slash = path.rfind('/');
  const auto file = slash == std::string_view::npos ? path : path.substr(slash + 1);
  for (std::string_view name : {"libopenblas", "libblas.so", "libmkl", "libblis"}) {
    if (file.starts_with(name)) {
      *static_cast<std::string*>(out) = path;
      return 1;
    }
  }
  return 0;
}

// "OpenBLAS 0.3.21 ... Haswell": the kernels in use differ with the processor that OpenBLAS believes to be on.
std::string blas() {
  std::string path;
  ::dl_iterate_phdr(find_blas, &path);
  if (path.empty()) return "built in";
  void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_NOLOAD | RTLD_LOCAL);
  if (library == nullptr) return path;
  using Text = char* (*)();
  const auto config = reinterpret_cast<Text>(::dlsym(library, "openblas_get_config"));
  const auto core = reinterpret_cast<Text>(::dlsym(library, "openblas_get_corename"));
  std::string text = config == nullptr ? path : config();
  if (core != nullptr) text += std::string(" kernels=") + core();
  ::dlclose(library);
  return text;
}

}  // namespace

namespace {

// What libtorch's own kernels were dispatched to, as its configuration says: "CPU capability usage: AVX2".
std::string instruction_set() {
  const std::string config = at::show_config();
  constexpr std::string_view kLabel = "CPU capability usage: ";
  const auto begin = config.find(kLabel);
  if (begin == std::string::npos) return "unknown";
  const auto value = begin + kLabel.size();
  return config.substr(value, config.find_first_of("\r\n", value) - value);
}

}  // namespace

std::map<std::string, std::string> bit_domain(std::int64_t threads) {
  return {{"dtrain", kVersion},
          {"libtorch", kTorchVersion},
          {"instruction_set", instruction_set()},
          {"blas", blas()},
          {"threads", std::to_string(threads)},
          {"device", "cpu"}};
}

std::string difference(const std::map<std::string, std::string>& saved, const std::map<std::string, std::string>& now) {
  std::string text;
  auto note = [&text](const std::string& name, const std::string& was, const std::string& is) {
    if (was != is) text += (text.empty() ? "" : ", ") + name + ": " + was + " -> " + is;
  };
  for (const auto& [name, value] : saved) note(name, value, now.contains(name) ? now.at(name) : "unknown");
  for (const auto& [name, value] : now) {
    if (!saved.contains(name)) note(name, "unknown", value);
  }
  return text;
}

}  // namespace dtrain
