// SPDX-License-Identifier: Apache-2.0
//
// The checkpoints of one run in one store.
//
// A save, and what a SIGKILL of any process or the whole machine leaves in each state. S is the step's nine digits (or
// more), N the nonce that all ranks of the save share. The checkpoint is there from the rename in 3 on, and only whole.
//
//   state                                   left behind                              found by the next start
//   0 nothing written                       -                                        the previous checkpoint
//   1 ranks write step-S.partial-N/rank-R   step-S.partial-N without a manifest      the previous one; folder is
//   "incomplete" 2 all files durable, rank 0 writes the  step-S.partial-N, with or without a      the previous one;
//   folder is "incomplete"
//     manifest there (it is written last)   manifest
//   3 publish: rename to step-S, sync       either name, never both                  the previous one, or step S whole
//   4 retention removes old ones, each      whole old checkpoints, or trash that     step S
//     renamed away before it is deleted     is not listed and goes with the next
//                                           removal
//
// When step-S exists already (a run that resumed from an older step, because step-S was damaged or the user said so,
// comes back to S): if it holds the same content it stays and the new files go; else it is removed right before 3. A
// kill between the two leaves what 2 leaves. Folders of state 1 and 2 go with clean_stale() at the next start.
//
// Fault points: ckpt.shard.{begin,middle,end} (shard.h), ckpt.manifest (before the manifest is written),
// ckpt.publish.before, ckpt.publish.after, ckpt.prune (before each removal).
#pragma once

#include <dtrain/store.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/ckpt/checkpoint.h"
#include "core/ckpt/manifest.h"
#include "core/ckpt/shard.h"

namespace dtrain {

struct CheckpointInfo {
  std::string folder;  // key prefix
  std::int64_t step = 0;
  bool complete = false;    // published; says nothing about damage
  std::uint64_t bytes = 0;  // of all its objects
};

// A checkpoint that was passed over, and why.
struct SkippedCheckpoint {
  std::string folder;
  std::int64_t step = 0;
  std::string reason;
};

struct NewestCheckpoint {
  std::optional<Checkpoint> checkpoint;
  std::vector<SkippedCheckpoint> skipped;  // newer ones: damaged or incomplete; newest first
};

struct Retention {
  std::int64_t keep_last = 3;
  std::int64_t keep_best = 0;
  std::string metric = "loss";  // a name in Manifest::metrics; checkpoints without it, or with a NaN, are never best
  bool higher_is_better = false;
};

struct PruneReport {
  std::vector<std::string> removed, kept;
  std::vector<SkippedCheckpoint> damaged;  // newer than the newest that verifies: neither counted nor removed
};

std::string checkpoint_folder(std::int64_t step);                         // "step-000000500"
std::string staging_folder(std::int64_t step, const std::string& nonce);  // "step-000000500.partial-<nonce>"
std::string make_nonce();                                                 // 16 random hexadecimal digits

// One thread at a time, but several processes: writers of one save, and any readers.
class CheckpointStore {
 public:
  // `store` outlives it. `root` is the store's root, for messages only.
  explicit CheckpointStore(Store& store, const std::string& root = {});

  // Saving. Every rank calls write(); rank 0 gathers the entries, fills the manifest (without files) and calls
  // commit(), or discard() when any rank failed. All throw RecoverableError (store_unavailable); what was the newest
  // checkpoint stays so.
  FileEntry write(std::int64_t step, const std::string& nonce, int rank, std::span<const TensorSlice> slices);
  void commit(const std::string& nonce, Manifest manifest, std::span<const FileEntry> entries);
  void discard(std::int64_t step, const std::string& nonce);

  // Removes staging folders of saves that never ended. Only the process that owns the run may call it, and not during a
  // save.
  std::vector<std::string> clean_stale();

  std::vector<CheckpointInfo> list() const;  // by step; complete before incomplete of the same step

  // UserError when there is no complete checkpoint of that step.
  Checkpoint open(std::int64_t step) const;

  // The complete checkpoint with the highest step that verifies. RecoverableError when none does and the store failed:
  // then nobody knows that there is none. Safe against a writer that saves and prunes meanwhile.
  NewestCheckpoint newest_verified() const;

  // Removes all checkpoints but: the newest that verifies; `keep_last` counted from it; the `keep_best` best. Removes
  // nothing when none verifies.
  PruneReport prune(const Retention& retention);

 private:
  bool same_content(const std::string& folder, const std::string& staging) const;

  Store& store_;
  std::string place_;
};

}  // namespace dtrain
