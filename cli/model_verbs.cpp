// SPDX-License-Identifier: Apache-2.0
#include "cli/model_verbs.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include <dtrain/error.h>

#include "core/ckpt/manifest.h"
#include "core/plan/make_plan.h"

namespace dtrain::cli {
namespace {

namespace fs = std::filesystem;

std::string read(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) throw UserError(file.string() + ": " + std::strerror(errno));
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string stored_recipe(const fs::path& target) {
  if (!fs::exists(target)) {
    throw UserError(target.string() + ": " + std::strerror(ENOENT), "name a run directory or a checkpoint folder");
  }
  const auto manifest = target / kManifestName;
  if (fs::exists(manifest)) return manifest_from_json(read(manifest), manifest.string()).recipe;
  if (fs::exists(target / "recipe.toml")) return read(target / "recipe.toml");
  throw UserError(target.string() + ": neither a run directory (no recipe.toml) nor a checkpoint (no manifest.json)",
                  "name a run directory or a checkpoint folder");
}

}  // namespace

std::string stored_plan(const std::string& target) {
  std::istringstream text(stored_recipe(target));
  RecipeRequest request;
  request.path = "-";
  request.ranks = 1;
  request.in = &text;
  const auto plan = make_plan(request);
  for (const char* name : {"OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"}) {
    ::setenv(name, std::to_string(plan.threads).c_str(), 1);
  }
  return to_json(plan);
}

}  // namespace dtrain::cli
