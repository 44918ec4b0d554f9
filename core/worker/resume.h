// SPDX-License-Identifier: Apache-2.0
//
// Where a run starts: from nothing, or from which checkpoint. Decided in the host process, before any worker starts or file is
// written.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <dtrain/store.h>

#include "core/ckpt/checkpoint_store.h"
#include "core/plan/train_request.h"
#include "core/plugin/loader.h"
#include "core/train/trainer.h"

namespace dtrain {

// The store of a run's checkpoints, with what was opened over it.
struct CheckpointAccess {
  ComponentPtr<Store> store;
  std::unique_ptr<CheckpointStore> checkpoints;
};
CheckpointAccess open_checkpoints(const Plan& plan, const PluginLoader& loader, const std::string& root);

struct ResumePoint {
  TrainPosition position;                // of a fresh run: 0, 0
  std::optional<CheckpointAccess> from;  // where `checkpoint` lies
  std::unique_ptr<const Checkpoint> checkpoint;  // null: a fresh run
  std::vector<std::string> notices;      // sentences for the user: what was found, skipped, differs
};

// The rules of --resume:
//   auto   the newest checkpoint of the run directory that verifies; none: step 0, and the notice says so; a folder that holds
//          something else is refused
//   never  the run directory must be missing or empty
//   PATH   a checkpoint or run directory, which must hold a checkpoint that verifies
// A checkpoint of another identity is refused with the differing lines of the two recipes; one of another trajectory unless
// `allow_drift`. All refusals are UserErrors (exit 2).
ResumePoint find_resume_point(const TrainRequest& request, const PluginLoader& loader, const std::string& run_dir);

}  // namespace dtrain
