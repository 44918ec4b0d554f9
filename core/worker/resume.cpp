// SPDX-License-Identifier: Apache-2.0
#include "core/worker/resume.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <set>
#include <sstream>

#include <dtrain/error.h>

#include "core/train/bit_domain.h"

namespace dtrain {
namespace {

namespace fs = std::filesystem;

bool is_missing_or_empty(const fs::path& folder) {
  std::error_code error;
  if (!fs::exists(folder, error)) return true;
  if (!fs::is_directory(folder)) throw UserError(folder.string() + ": the run directory is a file", "choose another --run-dir");
  return fs::is_empty(folder);
}

bool is_run_directory(const fs::path& folder) {
  return fs::exists(folder / "recipe.toml") || fs::exists(folder / "checkpoints");
}

// Lines of `a` that `b` lacks, without comments and blanks.
std::vector<std::string> missing_lines(const std::string& a, const std::string& b) {
  std::set<std::string> other;
  std::istringstream in_b(b);
  for (std::string line; std::getline(in_b, line);) other.insert(line);
  std::vector<std::string> lines;
  std::istringstream in_a(a);
  for (std::string line; std::getline(in_a, line);) {
    if (!line.empty() && line[0] != '#' && !other.contains(line)) lines.push_back(line);
  }
  return lines;
}

std::string recipe_difference(const std::string& saved, const std::string& now) {
  std::string text;
  for (const auto& line : missing_lines(saved, now)) text += "\n  checkpoint: " + line;
  for (const auto& line : missing_lines(now, saved)) text += "\n  recipe:     " + line;
  return text;
}

void check_compatible(const TrainRequest& request, const Manifest& manifest, const std::string& where) {
  if (manifest.identity != request.plan.identity) {
    throw UserError(where + " was made by another recipe, one that trains something else:" +
                        recipe_difference(manifest.recipe, request.plan.recipe),
                    "restore these fields, or start a new run with another --run-dir");
  }
  if (manifest.trajectory != request.plan.trajectory && !request.allow_drift) {
    throw UserError(where + " was made with other settings of the course of training:" +
                        recipe_difference(manifest.recipe, request.plan.recipe),
                    "restore these fields, or accept the change with --allow-drift");
  }
}

void accept(ResumePoint& point, const TrainRequest& request, Checkpoint checkpoint, const std::string& root) {
  const auto where = root + "/" + checkpoint.folder();
  const auto& manifest = checkpoint.manifest();
  check_compatible(request, manifest, where);
  point.position = {manifest.step, manifest.updates};
  point.notices.push_back("resuming from " + where + " at step " + std::to_string(manifest.step));
  if (const auto drift = difference(manifest.bit_domain, bit_domain(request.plan.threads)); !drift.empty()) {
    point.notices.push_back("the run is no longer bit-exact: it resumes in another bit domain (" + drift + ")");
  }
  point.checkpoint = std::make_unique<const Checkpoint>(std::move(checkpoint));
}

std::string skipped_sentence(const SkippedCheckpoint& skipped) {
  return "passing over " + skipped.folder + ": " + skipped.reason;
}

void resume_newest(ResumePoint& point, const TrainRequest& request, const CheckpointStore& checkpoints, const std::string& root,
                   bool required) {
  auto newest = checkpoints.newest_verified();
  for (const auto& skipped : newest.skipped) point.notices.push_back(skipped_sentence(skipped));
  if (newest.checkpoint) {
    accept(point, request, std::move(*newest.checkpoint), root);
    return;
  }
  for (const auto& info : checkpoints.list()) {
    if (info.complete) required = true;  // there was something to resume from: starting over would hide the damage
  }
  if (!required) {
    point.notices.push_back("no checkpoint in " + root + ": starting at step 0");
    return;
  }
  std::string reasons;
  for (const auto& notice : point.notices) reasons += "\n  " + notice;
  throw UserError(root + ": no checkpoint that verifies" + reasons,
                  "name another checkpoint with --resume PATH, or start a new run with another --run-dir");
}

}  // namespace

CheckpointAccess open_checkpoints(const Plan& plan, const PluginLoader& loader, const std::string& root) {
  CheckpointAccess access;
  access.store = loader.create<StoreKind>(plan.store.name, StoreContext{root}, plan.store.options);
  access.checkpoints = std::make_unique<CheckpointStore>(*access.store, root);
  return access;
}

ResumePoint find_resume_point(const TrainRequest& request, const PluginLoader& loader, const std::string& run_dir) {
  ResumePoint point;
  const auto own_root = run_dir + "/checkpoints";
  if (request.resume == "never") {
    if (!is_missing_or_empty(run_dir)) {
      throw UserError(run_dir + ": the run directory is not empty, and --resume never starts a fresh run",
                      "choose another --run-dir, or remove this one");
    }
    return point;
  }
  if (request.resume == "auto") {
    if (is_missing_or_empty(run_dir)) return point;
    if (!is_run_directory(run_dir)) {
      throw UserError(run_dir + ": the folder is not empty and is not a run directory", "choose another --run-dir");
    }
    point.from = open_checkpoints(request.plan, loader, own_root);
    resume_newest(point, request, *point.from->checkpoints, own_root, false);
    return point;
  }

  const auto path = fs::absolute(request.resume).lexically_normal();
  if (!fs::exists(path)) {
    throw UserError("--resume " + request.resume + ": " + std::strerror(ENOENT),
                    "name a checkpoint folder or a run directory, or use --resume auto");
  }
  const bool is_checkpoint = fs::exists(path / kManifestName);
  const auto root = is_checkpoint ? path.parent_path() : path / "checkpoints";
  point.from = open_checkpoints(request.plan, loader, root.string());
  if (is_checkpoint) {
    Checkpoint checkpoint(*point.from->store, path.filename().string(), root.string() + "/");
    checkpoint.verify();
    accept(point, request, std::move(checkpoint), root.string());
  } else {
    resume_newest(point, request, *point.from->checkpoints, root.string(), true);
  }
  return point;
}

}  // namespace dtrain
